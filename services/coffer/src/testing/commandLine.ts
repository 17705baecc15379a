/** The command line in this process, with what it prints, and a service that answers what a spec prepares. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { runProgram } from '../cli/program.ts';

export function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

export interface CommandRun {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly workingFolder?: string;
}

/** `line` is a shell line; `roles` is what `run` handed over to the service. */
export async function runInProcess(line: string, { variables, workingFolder = '.' }: CommandRun) {
  const stdout = collector();
  const stderr = collector();
  const roles: string[] = [];
  const exitCode = await runProgram(
    wordsOf(line),
    { variables, workingFolder, stdout: stdout.stream, stderr: stderr.stream },
    async (given) => void roles.push('run', ...given),
  );
  return { exitCode, stdout: stdout.text(), stderr: stderr.text(), roles };
}

/** The words of a shell line, quotes taken off. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
}

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly idempotencyKey: string | string[] | undefined;
  readonly body: unknown;
}

/** Called in a `describe`: a server that keeps what it is asked, of one test at a time. */
export function preparedService() {
  const service = {
    url: '',
    asked: [] as Asked[],
    /** `breaksOff` ends the connection after the text. */
    prepared: { status: 200, text: '{}', breaksOff: false },
    answers(body: unknown, status = 200) {
      service.prepared = { status, text: JSON.stringify(body), breaksOff: false };
    },
    answersLines(lines: readonly string[], breaksOff = false) {
      service.prepared = { status: 200, text: lines.map((line) => `${line}\n`).join(''), breaksOff };
    },
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { method, url, headers } = request;
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const { authorization, 'idempotency-key': idempotencyKey } = headers;
    service.asked.push({ method, url, authorization, idempotencyKey, body });
    const { prepared } = service;
    response.writeHead(prepared.status);
    if (prepared.breaksOff) response.write(prepared.text, () => response.destroy());
    else response.end(prepared.text);
  });

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A server on a port always has an address with one.
    service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => new Promise((resolve) => server.close(resolve)));
  beforeEach(() => {
    service.asked = [];
    service.answers({});
  });
  return service;
}
