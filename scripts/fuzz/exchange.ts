/** One request and its answer, byte by byte, so that even what a well-behaved client would refuse is sent. */
import { Agent, request as httpRequest } from 'node:http';

export interface Asked {
  readonly method: string;
  /** `http://host:port`. */
  readonly origin: string;
  /** Path and query, as sent on the wire. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** A request without a complete answer by then counts as unanswered. */
const ANSWER_LIMIT_MS = 90_000;

export function createWire(inFlight: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  return { send, close: () => agent.destroy() };

  /** Throws if the connection ends before the answer is complete. */
  function send({ method, origin, target, headers, body }: Asked): Promise<Answered> {
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const { hostname, port } = new URL(origin);
    const request = httpRequest({
      ...{ agent, method, hostname, port, path: target },
      headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    });
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    // An answer may come before everything was sent; the rest of the request then meets a closed connection.
    request.on('error', reject);
    request.end(body);
    return promise;
  }
}

/** As a shell command. A long body goes through a file, which `keep` writes. */
export function curlOf(
  { method, origin, target, headers, body }: Asked,
  keep: (body: Buffer) => string,
): string {
  const words = ['curl', '-sS', '-i', '-g', '--path-as-is', '-X', method, quoted(`${origin}${target}`)];
  for (const [name, value] of Object.entries(headers)) {
    words.push('-H', quoted(value === '' ? `${name};` : `${name}: ${value}`));
  }
  if (body) {
    const isShort = body.length <= LONGEST_LINE && !body.includes(0);
    words.push('--data-binary', isShort ? quoted(body.toString('latin1')) : `@${keep(body)}`);
  }
  return words.join(' ');
}

const LONGEST_LINE = 4_000;

/** Quotes a text with one character per byte. */
function quoted(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text) && !text.includes("'")) return `'${text}'`;
  const escaped = text.replaceAll(/[^\x20-\x26\x28-\x5b\x5d-\x7e]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `$'${escaped}'`;
}
