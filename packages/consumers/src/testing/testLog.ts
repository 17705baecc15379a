/** A log in memory, for specs of its readers. */
import {
  type EventStore,
  type LogPlace,
  LogRewrittenError,
  type Position,
  type RecordedEvent,
} from '@coffer/event-store';
import type { ConsumerOptions } from '../consumer.ts';

export interface TestLog {
  readonly store: ConsumerOptions['store'];
  readonly append: (count: number, type?: string, data?: string) => void;
  readonly rewrite: () => void;
  readonly length: () => number;
}

/** A log of one stream with positions 1, 2, 3 …, which can be rewritten. */
export function testLog(): TestLog {
  const events: RecordedEvent[] = [];
  let isRewritten = false;
  let changed = Promise.withResolvers<void>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };

  async function* subscribeToAll({
    after,
    signal,
    pageSize = 100,
  }: Parameters<EventStore['subscribeToAll']>[0]) {
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve());
    });
    let reached = Number(after?.position ?? 0);
    let isBehind = true;
    while (!signal.aborted) {
      if (isRewritten) throw new LogRewrittenError('The log is another one.');
      const page = events.slice(reached, reached + pageSize);
      if (page.length > 0) {
        reached += page.length;
        yield { kind: 'events', events: page } as const;
      } else if (isBehind) {
        isBehind = false;
        yield { kind: 'caughtUp' } as const;
      } else {
        await Promise.race([changed.promise, aborted]);
      }
    }
  }

  return {
    length: () => events.length,
    append(count, type = 'Happened', key = '') {
      for (let index = 0; index < count; index += 1) {
        const revision = events.length;
        events.push({
          id: `event ${revision}`,
          type,
          data: JSON.stringify(key),
          metadata: '{}',
          stream: 'things',
          revision,
          position: String(revision + 1) as Position,
          recordedAt: new Date(),
        });
      }
      wake();
    },
    rewrite() {
      isRewritten = true;
      wake();
    },
    store: {
      subscribeToAll,
      async head() {
        const last = events.at(-1);
        return last && { position: last.position, eventId: last.id };
      },
      comparePositions: (left, right) => Number(left) - Number(right),
      distance: (from, to) => Number(to) - Number(from ?? 0),
    },
  };
}

export function placeOf(position: number): LogPlace {
  return { position: String(position) as Position, eventId: `event ${position - 1}` };
}
