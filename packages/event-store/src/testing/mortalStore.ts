/** Processes that die between two appends, for specs. */
import type { EventStore } from '../port.ts';

/** A process that died. */
export class Died extends Error {
  override readonly name = 'Died';
}

/** How many appends a process still makes, and whether it makes the last of them before it dies. */
export interface Life {
  readonly appends: number;
  readonly dies: 'before' | 'after';
}

/** A store whose process dies at one of its appends: from then on it neither writes nor reads. */
export function mortalStore(store: EventStore, { appends, dies }: Life): EventStore {
  let left = appends;
  let isDead = false;
  const alive = () => {
    if (isDead) throw new Died('the process is dead');
  };
  return {
    ...store,
    async append(request) {
      alive();
      left -= 1;
      if (left > 0) return store.append(request);
      isDead = true;
      if (dies === 'after') await store.append(request);
      throw new Died(request.stream);
    },
    async heads(streams) {
      alive();
      return store.heads(streams);
    },
    async readTails(tails, limit) {
      alive();
      return store.readTails(tails, limit);
    },
  };
}
