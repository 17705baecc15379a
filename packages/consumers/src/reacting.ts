/**
 * The kind of consumer that acts outside its database. Its checkpoint stays just before the oldest pending cause, which
 * makes a crash at any instant harmless.
 */
import { systemClock } from '@coffer/kernel';
import { monotonicClock } from './monotonicClock.ts';
import type { Reaction } from './reaction.ts';
import { createReactor, type ReactorOptions } from './reactor.ts';
import type { ConsumerWork, RunningWork, Session } from './work.ts';

export interface ReactingOptions extends ReactorOptions {
  /** The least time between saved checkpoints. Default 1,000 ms. */
  readonly saveEveryMs?: number;
}

/** How long stopping waits for acts in flight; they are idempotent, so abandoning them is safe. */
const FINISH_WITHIN_MS = 5_000;

export function reacting(reactions: readonly Reaction[], options: ReactingOptions = {}): ConsumerWork {
  const names = new Set(reactions.map(({ name }) => name));
  if (names.size !== reactions.length) throw new Error('Two reactions of one consumer have the same name.');
  return { begin: (session) => beginReacting(reactions, options, session) };
}

function beginReacting(
  reactions: readonly Reaction[],
  options: ReactingOptions,
  session: Session,
): RunningWork {
  const { saveEveryMs = 1_000 } = options;
  const { signal, place, onTrouble, isSkipped } = session;
  const reactor = createReactor({
    reactions,
    options,
    clock: monotonicClock,
    wallClock: systemClock,
    place,
    signal,
    onTrouble,
    isSkipped,
  });
  let saved = place;
  let saving: Promise<void> = Promise.resolve();
  let cancelSave = monotonicClock.after(saveEveryMs, saveInBackground);

  return {
    take: reactor.take,
    caughtUp: reactor.caughtUp,
    pending: reactor.figures,
    async end() {
      cancelSave();
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const cancel = monotonicClock.after(FINISH_WITHIN_MS, resolve);
      await Promise.race([reactor.idle(), late]);
      cancel();
      await saving;
    },
    saveLast: save,
  };

  function saveInBackground(): void {
    saving = save().catch(session.fail);
    saving.then(() => {
      if (!signal.aborted) cancelSave = monotonicClock.after(saveEveryMs, saveInBackground);
    });
  }

  async function save(): Promise<void> {
    const reached = reactor.place();
    if (reached?.position === saved?.position) return;
    await session.save(session.pool, saved, reached);
    saved = reached;
  }
}
