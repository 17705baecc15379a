/** Records what a service asks of its database, for specs: a relay in front of Postgres. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface StatementWatch {
  /** To be given to the service in place of the real database address. */
  readonly url: string;
  /** The statements begun since the last call, in order, without their values. */
  readonly take: () => readonly string[];
  readonly stop: () => Promise<void>;
}

export async function watchStatements(databaseUrl: string): Promise<StatementWatch> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let seen: string[] = [];
  const relay = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    const read = statementReader((text) => seen.push(text));
    client.on('data', read);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      // Either side may hang up; the other one is closed with it.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((relay.address() as AddressInfo).port); // It listens on TCP.
  return {
    url: url.href,
    take: () => {
      const taken = seen;
      seen = [];
      return taken;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      relay.close();
      await once(relay, 'close');
    },
  };
}

/** Frontend messages: a letter, their length, their content; the first one of a connection has no letter. */
function statementReader(onStatement: (text: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const letters = isStarted ? 1 : 0;
      if (rest.length < letters + 4) return;
      const end = letters + rest.readUInt32BE(letters);
      if (rest.length < end) return;
      const content = rest.toString('utf8', letters + 4, end);
      const letter = isStarted ? String.fromCharCode(rest.readUInt8(0)) : '';
      // Query: the text. Parse: the name of the statement, then the text.
      if (letter === 'Q') onStatement(textIn(content, 0));
      if (letter === 'P') onStatement(textIn(content, 1));
      isStarted = true;
      rest = rest.subarray(end);
    }
  };
}

const textIn = (content: string, index: number): string =>
  (content.split('\0')[index] ?? '').replaceAll(/\s+/g, ' ').trim();
