/** One run: a fresh service gets random requests until there were enough, and must then be intact. */
import { open, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from '@coffer/host/testing';
import { eventually, randomFrom, startScript } from '@coffer/testing';
import { type Run, runNode } from '../bench/children.ts';
import { inParallel } from '../bench/inParallel.ts';
import { type ServiceUnderTest, startService, temporaryFolder } from '../bench/service.ts';
import { createTally, type Tally } from '../faults/tally.ts';
import { type Answered, createWire, curlOf } from './exchange.ts';
import { createKnown } from './known.ts';
import { type Operation, operationsOf } from './operations.ts';
import { createQuestions, type Question } from './questions.ts';
import { setScene } from './scene.ts';
import { jsonOf, linesOf, problemOf } from './verdict.ts';

const RESTORED_EVERY = 500;
const MOST_FINDINGS = 40;
const RECONCILE_LIMIT_MS = 60_000;
const SHARE = { twiceAtOnce: 0.1, sameAgain: 0.25, otherContent: 0.15 };

export interface FuzzOptions {
  readonly seed: number;
  readonly requests: number;
  readonly inFlight: number;
}

export interface Outcome {
  readonly operations: number;
  /** By the intent of the request. */
  readonly kinds: Tally;
  readonly statuses: Tally;
  /** How often each operation succeeded. */
  readonly successes: Tally;
  readonly unavailable: Tally;
  readonly replays: number;
  /** Each with a curl line. */
  readonly findings: readonly string[];
  /** Operations that never succeeded. */
  readonly idle: readonly string[];
  readonly untried: readonly string[];
  readonly seconds: number;
}

export async function runFuzz(run: Run, { seed, requests, inFlight }: FuzzOptions): Promise<Outcome> {
  const startedAtMs = performance.now();
  const [kinds, statuses, successes, unavailable] = [
    createTally(),
    createTally(),
    createTally(),
    createTally(),
  ];
  const asked = new Set<string>();
  const findings = new Map<string, string>();
  const random = randomFrom(seed);
  let issued = 0;
  let replays = 0;

  const folder = await temporaryFolder(run);
  const logPath = join(folder, 'service.log');
  const log = await open(logPath, 'w');
  run.stack.defer(() => log.close());
  run.progress('starting the service');
  const service = await startService(run, { stdout: log.fd });
  const client = createClient({ baseUrl: `${service.origin}/v1`, operatorToken: service.boot.portalToken });
  const operations = operationsOf(await documentsOf(client));
  const scene = await setScene(client, service, run.signal);
  const known = createKnown(operations, scene.kept);
  await scene.restore(known);
  const questions = createQuestions({ operations, known, scene, random });
  const wire = createWire(inFlight);
  run.stack.defer(async () => wire.close());

  let restoring: Promise<void> | undefined;
  await Promise.all(Array.from({ length: inFlight }, askUntilEnough));
  await restoring;

  run.progress('all requests sent; comparing the books with the log');
  await judgeEnd();
  const worked = new Set(successes.rows().map(([id]) => id));
  return {
    operations: operations.length,
    ...{ kinds, statuses, successes, unavailable, replays },
    findings: [...findings.values()],
    idle: operations.map(({ id }) => id).filter((id) => !worked.has(id)),
    untried: operations.map(({ id }) => id).filter((id) => !asked.has(id)),
    seconds: (performance.now() - startedAtMs) / 1_000,
  };

  async function askUntilEnough(): Promise<void> {
    while (issued < requests && findings.size < MOST_FINDINGS) {
      run.signal.throwIfAborted();
      const question = questions.next();
      if (!question.isKeyed) await ask(question);
      else if (random() < SHARE.twiceAtOnce) {
        const [one, other] = await Promise.all([ask(question), ask({ ...question, kind: 'sameAgain' })]);
        await compare(question, one, other);
      } else await askAgainAndAgain(question);
    }
  }

  async function askAgainAndAgain(question: Question): Promise<void> {
    const first = await ask(question);
    if (!first || first.status >= 300) return;
    if (random() < SHARE.otherContent) await ask(questions.withOtherContent(question));
    if (random() < SHARE.sameAgain)
      await compare(question, first, await ask({ ...question, kind: 'sameAgain' }));
  }

  /** A success is repeated to the byte. A refusal need not be: the player may be suspended by now. */
  async function compare(question: Question, one: Answered | undefined, other: Answered | undefined) {
    if (!one || !other || one.status >= 300 || other.status >= 300) return;
    replays += 1;
    if (one.status === other.status && repeatedText(one) === repeatedText(other)) return;
    await find(question, `answered ${one.status} ${one.bytes} and then ${other.status} ${other.bytes}`);
  }

  async function ask(question: Question): Promise<Answered | undefined> {
    issued += 1;
    if (issued % RESTORED_EVERY === 0) {
      run.progress(`${issued} requests, ${findings.size} findings`);
      restoring = (restoring ?? Promise.resolve()).then(() => scene.restore(known));
      restoring.catch(() => undefined);
    }
    kinds.add(question.kind);
    asked.add(question.operation.id);
    let answered: Answered;
    try {
      answered = await wire.send(question);
    } catch (error) {
      await find(question, `no answer: ${error}`);
      return undefined;
    }
    const { status } = answered;
    const reached = reachedBy(question);
    statuses.add(String(status));
    if (status === 503) unavailable.add(`${reached?.id} ${Object(jsonOf(answered.bytes.toString())).code}`);
    const problem = problemOf(reached, question, answered);
    if (problem !== undefined) await find(question, problem, answered);
    else if (reached && status < 300) {
      successes.add(reached.id);
      await learn(question, reached, answered);
    }
    return answered;
  }

  /** The operation that the request reaches, which need not be the one it was made from. */
  function reachedBy({ method, origin, target }: Question): Operation | undefined {
    const path = target.split('?')[0] ?? '';
    const found = operations.filter((one) => {
      const base = new URL(one.baseUrl);
      const isThere = base.origin === origin && path.startsWith(base.pathname);
      return isThere && one.method === method && one.pattern.test(path.slice(base.pathname.length));
    });
    // A literal segment wins over a parameter, as in the router.
    const [first] = found.sort((one, other) => one.path.split('{').length - other.path.split('{').length);
    return isAddress(path) ? first : undefined;
  }

  async function learn(question: Question, operation: Operation, { status, bytes, headers }: Answered) {
    if (operation !== question.operation) return;
    const { values, content: body, credential } = question;
    const texts = String(headers['content-type']).startsWith('application/x-ndjson')
      ? linesOf(bytes).slice(-20)
      : [bytes.toString()];
    for (const text of texts) {
      const json = jsonOf(text);
      known.learnFrom(operation, status, { values, body, answer: { json } }, credential);
      const { stream, message } = Object(json);
      if (stream !== undefined) known.remember('name', stream);
      const wallet = scene.wallets.get(String(Object(body).publicKey));
      if (!wallet || operation.id !== 'postAuthSiwsChallenge') continue;
      const signature = Buffer.from(await wallet.signMessage(Buffer.from(String(message)))).toString(
        'base64',
      );
      known.addLead('postAuthSiwsVerify', {
        values: { challenge: json, publicKey: wallet.publicKey, signature },
        credential,
      });
    }
  }

  async function find(question: Question, problem: string, answered?: Answered): Promise<void> {
    const { method, operation, kind } = question;
    const which = `${method} ${operation.path}: ${problem.slice(0, 60)}`;
    if (findings.has(which)) return;
    findings.set(which, '');
    let body: Buffer | undefined;
    const bodyPath = join(tmpdir(), `coffer-fuzz-${seed}-${findings.size}.body`);
    const curl = curlOf(question, (bytes) => {
      body = bytes;
      return bodyPath;
    });
    if (body) await writeFile(bodyPath, body);
    const requestId = answered?.headers['x-request-id'];
    const lines = requestId === undefined ? [] : await logLines(String(requestId));
    const text = [`${method} ${operation.path} (${kind}) ${problem}`, curl, ...lines].join('\n    ');
    findings.set(which, text);
    run.progress(`FOUND ${text}`);
  }

  async function logLines(requestId: string): Promise<readonly string[]> {
    const lines = (await readFile(logPath, 'utf8')).split('\n');
    return lines.filter((line) => line.includes(requestId)).slice(0, 3);
  }

  async function judgeEnd(): Promise<void> {
    await eventually(`${service.origin}/readyz answers 200`, async () => {
      const response = await fetch(`${service.origin}/readyz`);
      await response.arrayBuffer();
      return response.ok || undefined;
    });
    const { json } = await client.get('/portal/apps');
    const apps: readonly { readonly appId: string }[] = Object(json).items;
    const paths = apps.flatMap(({ appId }) =>
      ['test', 'live'].map((environment) => `/portal/app/${appId}/${environment}/reconcile`),
    );
    await inParallel(paths.length, async (index) => {
      const path = paths[index] ?? '';
      const answer = await client.post(path, { full: true });
      const result = answer.text.trimEnd().split('\n').at(-1) ?? '';
      if (answer.status !== 200 || Object(jsonOf(result)).result?.ok !== true) {
        findings.set(path, `POST ${path} answered ${answer.status} ${result}`);
      }
    });
    await reconcile(run, service, scene.appId).catch((error: Error) => {
      findings.set('reconcile', `coffer reconcile --full: ${error.message}`);
    });
  }
}

/** The document for players and backends, and the one for operators if it is separate. */
async function documentsOf(client: Client): Promise<readonly object[]> {
  const answers = [await client.get('/openapi.json'), await client.get('/operator/openapi.json')];
  const found = answers.filter(({ status }) => status === 200).map(({ json }) => json);
  if (found.length === 0) throw new Error('The service has no OpenAPI document.');
  return found;
}

async function reconcile(run: Run, { origin, boot }: ServiceUnderTest, appId: string): Promise<void> {
  const { program } = startScript();
  for (const environment of ['test', 'live']) {
    await runNode(run, [program, 'reconcile', '--app', appId, '--env', environment, '--full'], {
      name: 'coffer reconcile',
      env: { PATH: process.env.PATH, COFFER_URL: origin, COFFER_OPERATOR_TOKEN: boot.portalToken },
      stopLimitMs: RECONCILE_LIMIT_MS,
    });
  }
}

/** Percent-encoded UTF-8 without NUL, which no name contains. */
function isAddress(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
}

/**
 * What a repeat has to say as well. A rollback of a bet that another request rolled back keeps nothing: its balance is the
 * current one.
 */
function repeatedText({ bytes }: Answered): string {
  const text = bytes.toString();
  return text.includes('"status":"already_rolled_back"') ? text.replace(/"balance":"\d+"/, '') : text;
}
