/**
 * Tells readers in other threads and processes that the log has grown: at once, and then no more often than every 20 ms, since
 * each telling wakes a connection and a thread in every one of them. After the commit, not with it: a commit that
 * notifies takes turns with all others of the whole server that do. ADR 0076.
 */
import type pg from 'pg';

const PAUSE_MS = 20;
const TELL = { name: 'coffer-announce', text: `select pg_notify('coffer_log', '')` };

export interface Announcements {
  /** Something was written over this connection. */
  readonly made: (client: Pick<pg.Client, 'query'>) => void;
  /** Tells what was not yet told. */
  readonly end: () => void;
}

/** `later` calls after a time in milliseconds, unless it is cancelled by what it returns. */
export function createAnnouncements(later = afterTime): Announcements {
  let cancelPause: (() => void) | undefined;
  let untold: Pick<pg.Client, 'query'> | undefined;

  function tell(client: Pick<pg.Client, 'query'>): void {
    untold = undefined;
    // One that is lost only delays readers until their next poll, and the next batch finds out about the connection.
    client.query(TELL).catch(() => undefined);
  }

  function tellAndPause(client: Pick<pg.Client, 'query'>): void {
    tell(client);
    cancelPause = later(PAUSE_MS, () => {
      cancelPause = undefined;
      if (untold) tellAndPause(untold);
    });
  }

  return {
    made(client) {
      if (cancelPause) untold = client;
      else tellAndPause(client);
    },
    end() {
      cancelPause?.();
      if (untold) tell(untold);
    },
  };
}

function afterTime(delayMs: number, action: () => void): () => void {
  const timer = setTimeout(action, delayMs);
  return () => clearTimeout(timer);
}
