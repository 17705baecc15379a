/** The one connection over which a process appends: made when it is needed, and anew when it is lost. */
import pg from 'pg';
import type { BatchRow } from './appendCall.ts';
import { APPEND_SESSION } from './appendSession.ts';

export interface AppendConnection {
  /** The connection in use, or the one being made. Rejects where none can be. */
  client(): Promise<pg.Client>;
  /** Of no more use: the next one is made anew. */
  drop(client: pg.Client): void;
  /** One that could not be made needs no end. */
  end(): Promise<void>;
}

/** A reply that has not come by then will not come. */
const REPLY_TIMEOUT_MS = 15_000;

export function createAppendConnection(options: {
  readonly connectionString: string;
  readonly applicationName: string;
}): AppendConnection {
  let connected: Promise<pg.Client> | undefined;
  let alive: pg.Client | undefined;

  return {
    client() {
      if (!connected) {
        const connecting = connect();
        connected = connecting;
        connecting.catch(() => {
          if (connected === connecting) connected = undefined;
        });
      }
      return connected;
    },
    drop,
    async end() {
      await connected?.then(
        (client) => client.end(),
        () => undefined,
      );
    },
  };

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: options.connectionString,
      application_name: options.applicationName,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      pipeline: true,
      options: '-c default_transaction_isolation=read\\ committed',
    });
    // A lost connection is met by the batches in flight, and by the next one, which makes another.
    client.on('error', () => drop(client));
    await client.connect();
    await client.query(APPEND_SESSION);
    alive = client;
    return client;
  }

  function drop(client: pg.Client): void {
    if (alive === client) {
      alive = undefined;
      connected = undefined;
    }
    client.end().catch(() => undefined);
  }
}

/** A server that stays silent is as good as a lost connection: the outcome is unknown. */
export async function withinReplyTime(reply: Promise<pg.QueryArrayResult<BatchRow[]>>): Promise<BatchRow> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`No reply within ${REPLY_TIMEOUT_MS} ms.`)),
    REPLY_TIMEOUT_MS,
  );
  try {
    const { rows } = await Promise.race([reply, late]);
    // One call, one row of this very shape.
    return rows[0] as unknown as BatchRow;
  } finally {
    clearTimeout(timer);
    // Of a reply that comes too late nobody wants to know any more: the outcome was told as unknown.
    reply.catch(() => undefined);
  }
}
