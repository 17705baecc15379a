/** The reader of the log that emits. Any number of processes may start it: one of them reads at a time. */
import {
  type Consumer,
  type ConsumerOptions,
  type ConsumerWork,
  projecting,
  startConsumer,
} from '@coffer/consumers';
import { type EmittingStore, emitting } from './emitting.ts';

export const EMITTER_CONSUMER = { schema: 'records', name: 'webhooks' } as const;

export interface EmitterOptions extends Omit<ConsumerOptions, 'schema' | 'name' | 'work'> {
  /** The streams of moves. */
  readonly moves: EmittingStore;
  /** Something may have been emitted. */
  readonly onEmitted?: () => void;
}

export const startEmitter = ({ moves, onEmitted, ...shared }: EmitterOptions): Consumer =>
  startConsumer({
    ...shared,
    ...EMITTER_CONSUMER,
    work: telling(projecting([emitting(moves)]), onEmitted),
  });

/** Once a page is committed. */
const telling = (work: ConsumerWork, onEmitted: () => void = () => undefined): ConsumerWork => ({
  begin(session) {
    const running = work.begin(session);
    return {
      ...running,
      async take(events) {
        await running.take(events);
        onEmitted();
      },
    };
  },
});
