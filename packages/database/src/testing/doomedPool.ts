/** A pool as a process sees it that dies at one of its statements: from then on nothing of it is heard. */
import type { Pool } from '../index.ts';

export type Death =
  /** The statement never reaches the server. */
  | 'before'
  /** The server carries it out, and its answer reaches nobody. */
  | 'after';

export interface DoomedPool {
  readonly pool: Pool;
  /** Statements so far, each with what it begins with. */
  readonly statements: readonly string[];
  readonly isDead: () => boolean;
}

export class DeadProcessError extends Error {
  override readonly name = 'DeadProcessError';
}

interface Connection {
  readonly connection: { readonly stream: { readonly destroy: () => void } };
}

/** Dies at the statement with that number, from 1; never when it is not given. */
export function doomedPool(real: Pool, death?: Death, at?: number): DoomedPool {
  const statements: string[] = [];
  let dead = false;

  const query = async (client: object, send: (...args: unknown[]) => Promise<unknown>, args: unknown[]) => {
    if (dead) throw new DeadProcessError('The process is dead.');
    statements.push(textOf(args[0]));
    if (statements.length !== at) return send(...args);
    dead = true;
    if (death === 'after') await send(...args);
    // Its connection ends with it, and what was not committed is rolled back.
    (client as Connection).connection.stream.destroy();
    throw new DeadProcessError('The process has just died.');
  };

  async function connect() {
    if (dead) throw new DeadProcessError('The process is dead.');
    const client = await real.connect();
    return new Proxy(client, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'query') return (...args: unknown[]) => query(target, value.bind(target), args);
        return value.bind(target);
      },
    });
  }

  const pool = {
    connect,
    async query(...args: unknown[]) {
      const client = await connect();
      const onError = () => undefined;
      client.on('error', onError);
      let failure: Error | undefined;
      try {
        // The arguments of a pool's query are those of a client's.
        return await (client.query as (...args: unknown[]) => Promise<unknown>)(...args);
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        throw error;
      } finally {
        if (!failure) client.off('error', onError);
        client.release(failure);
      }
    },
  };
  // Of a pool, consumers use these two, which take and give what those of a pool do.
  return { pool: pool as unknown as Pool, statements, isDead: () => dead };
}

function textOf(statement: unknown): string {
  const text =
    typeof statement === 'object' && statement !== null && 'text' in statement ? statement.text : statement;
  return String(text).trim().split(/\s+/).slice(0, 3).join(' ');
}
