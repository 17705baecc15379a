/** For relays of the log alone. */
import type { ToldEvents } from '../toldEvents.ts';

export const nothingTold: ToldEvents = {
  lasts: async () => [],
  after: async () => [],
  idsAt: async () => new Map(),
  keepOnlyAfter: async () => undefined,
  passedOn: async () => undefined,
  sourceOf() {
    throw new Error('Nothing is told.');
  },
};
