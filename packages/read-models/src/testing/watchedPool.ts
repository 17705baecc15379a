/** A pool whose statements a spec can watch, hold up or make fail. */
import type { Client, Pool } from '@coffer/database';

/** A statement on its way to the database, and the connection that it is for. */
export interface Statement {
  readonly text: string;
  readonly client: Client;
}

type PooledClient = Client & { readonly release: (failure?: Error) => void };

/**
 * The pool, with `before` awaited ahead of every statement; if it throws, the statement fails with that
 * error.
 */
export function watchedPool(pool: Pool, before: (statement: Statement) => Promise<void>): Pool {
  const connect = async (): Promise<PooledClient> => {
    const client = await pool.connect();
    return watching(client, async (...args: readonly unknown[]) => {
      await before({ text: textOf(args[0]), client });
      // The arguments that the watched client was given.
      return Reflect.apply(client.query, client, args);
    });
  };
  const query = async (...args: readonly unknown[]) => {
    const client = await connect();
    let failure: Error | undefined;
    const noteFailure = (error: Error) => {
      failure = error;
    };
    client.on('error', noteFailure);
    try {
      return await Reflect.apply(client.query, client, args);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      if (!failure) client.off('error', noteFailure);
      client.release(failure);
    }
  };
  return new Proxy(watching(pool, query), {
    get: (target, name) => (name === 'connect' ? connect : Reflect.get(target, name)),
  });
}

function watching<Target extends object>(target: Target, query: unknown): Target {
  return new Proxy(target, {
    get(_, name) {
      if (name === 'query') return query;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** With the versions left out, so that the same statement of two runs has the same text. */
function textOf(query: unknown): string {
  const text =
    typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : String(query);
  return text.replace(/read_v\d+/g, 'read_v').replace(/\s+/g, ' ');
}
