/** The one connection over which a process appends: opened when needed, and again when lost. */
import { answeredWithin } from '@coffer/database';
import pg from 'pg';
import type { BatchRow } from './appendCall.ts';
import { APPEND_SESSION } from './appendSession.ts';
import { endClient } from './ending.ts';

export interface AppendConnection {
  /** The connection in use, or the one being opened. Rejects if none can be opened. */
  client(): Promise<pg.Client>;
  /** The connection is unusable: the next call opens another. */
  drop(client: pg.Client): void;
  /** A connection that failed to open needs no closing. */
  end(): Promise<void>;
}

/** Where batches are small, the server would plan the statements of the append function anew for each: ADR 0077. */
const SETTINGS = '-c default_transaction_isolation=read\\ committed -c plan_cache_mode=force_generic_plan';

/** A reply that has not arrived by then will not arrive. */
const REPLY_TIMEOUT_MS = 15_000;

export function createAppendConnection(options: {
  readonly connectionString: string;
  readonly applicationName: string;
  /** For the login, and again for the settings of the session. */
  readonly openingTimeoutMs?: number;
}): AppendConnection {
  const { connectionString, applicationName, openingTimeoutMs = 5_000 } = options;
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
      await connected?.then(endClient, () => undefined);
    },
  };

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString,
      application_name: applicationName,
      connectionTimeoutMillis: openingTimeoutMs,
      keepAlive: true,
      pipeline: true,
      options: SETTINGS,
    });
    // A lost connection fails the batches in flight; the next batch opens another.
    client.on('error', () => drop(client));
    try {
      await client.connect();
      // A server may be silent after the login as well, and every append waits for this one.
      await client.query(answeredWithin(openingTimeoutMs, { text: APPEND_SESSION }));
    } catch (error) {
      void endClient(client);
      throw error;
    }
    alive = client;
    return client;
  }

  function drop(client: pg.Client): void {
    if (alive === client) {
      alive = undefined;
      connected = undefined;
    }
    void endClient(client);
  }
}

/** A silent server is as good as a lost connection: the outcome is unknown. */
export async function withinReplyTime(reply: Promise<pg.QueryArrayResult<BatchRow[]>>): Promise<BatchRow> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`No reply within ${REPLY_TIMEOUT_MS} ms.`)),
    REPLY_TIMEOUT_MS,
  );
  try {
    const { rows } = await Promise.race([reply, late]);
    // One call gives one row of this shape.
    return rows[0] as unknown as BatchRow;
  } finally {
    clearTimeout(timer);
    // A late reply is ignored: the outcome was already reported as unknown.
    reply.catch(() => undefined);
  }
}
