/** For the specs: a node on the loopback that answers by a script, or misbehaves. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';

interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The result as text, since a parser could lose digits of its numbers; or the reason why there is none. */
export type Scripted = string | { readonly code: number; readonly message: string; readonly data?: unknown };

export type Manner =
  | 'answers'
  | 'hangs'
  | 'breaksOff'
  | 'speaksHtml'
  | 'saysTooMuch'
  | 'leadsElsewhere'
  | number;

const MUCH = 200_000;

export interface ScriptedNode {
  readonly url: string;
  readonly calls: readonly RpcCall[];
  readonly methods: () => readonly string[];
  readonly on: (method: string, answer: Scripted | ((params: readonly unknown[]) => Scripted)) => void;
  /** A number is the HTTP status of each answer. */
  readonly setManner: (manner: Manner) => void;
  /** How often a client tried to upgrade to a socket. */
  readonly upgrades: () => number;
  readonly close: () => Promise<void>;
}

export async function scriptedNode(): Promise<ScriptedNode> {
  const calls: RpcCall[] = [];
  const answers = new Map<string, (params: readonly unknown[]) => Scripted>();
  let manner: Manner = 'answers';
  let upgrades = 0;

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    // Written by the code under test; the specs check it.
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as RpcCall & {
      id: unknown;
    };
    calls.push({ method, params });
    if (manner !== 'answers' && manner !== 'saysTooMuch') return misbehave(response, manner);
    const answer = answers.get(method)?.(params) ?? { code: -32601, message: 'Method not found' };
    const body = typeof answer === 'string' ? `"result":${answer}` : `"error":${JSON.stringify(answer)}`;
    response.setHeader('content-type', 'application/json');
    const padding = manner === 'saysTooMuch' ? ' '.repeat(MUCH) : '';
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${body}}${padding}`);
  });
  server.on('upgrade', (_request, socket) => {
    upgrades++;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The server is bound to no port.');

  return {
    url: `http://127.0.0.1:${address.port}/?api-key=secret-of-the-customer`,
    calls,
    methods: () => calls.map(({ method }) => method),
    on: (method, answer) => answers.set(method, typeof answer === 'function' ? answer : () => answer),
    setManner: (next) => {
      manner = next;
    },
    upgrades: () => upgrades,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function misbehave(response: ServerResponse, manner: Exclude<Manner, 'answers' | 'saysTooMuch'>): void {
  if (typeof manner === 'number') {
    response.statusCode = manner;
    response.end('{"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"no"}}');
  } else if (manner === 'breaksOff') response.destroy();
  else if (manner === 'speaksHtml') response.end('<html>Welcome</html>');
  else if (manner === 'leadsElsewhere') {
    response.writeHead(307, { location: '/elsewhere' });
    response.end();
  }
}
