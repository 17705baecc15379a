/** An absent chain fails thousands of moves every few seconds: equal messages are logged once a minute. */
import type { Logger } from '@coffer/http';
import type { Environment } from '@coffer/kernel';

const EVERY_MS = 60_000;
/** Messages that name their subject are all different, so the number kept is limited. */
const MOST_KEPT = 1_000;

export interface Trouble {
  readonly environment: Environment;
  readonly moveId: string | undefined;
  readonly error: unknown;
}

export function createTroubleLog(logger: Logger, nowMs: () => number) {
  const told = new Map<string, { atMs: number; untold: number }>();

  return ({ environment, moveId, error }: Trouble): void => {
    const key = `${environment} ${error instanceof Error ? `${error.name} ${error.message}` : String(error)}`;
    const last = told.get(key);
    if (last && nowMs() - last.atMs < EVERY_MS) {
      last.untold += 1;
      return;
    }
    if (told.size >= MOST_KEPT) told.clear();
    told.set(key, { atMs: nowMs(), untold: 0 });
    const times = (last?.untold ?? 0) + 1;
    logger.warn({ environment, moveId, times, err: error }, 'a move is held up and will be tried again');
  };
}
