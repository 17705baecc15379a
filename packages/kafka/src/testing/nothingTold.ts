/** For relays of the log alone. */
import type { ToldEvents } from '../toldEvents.ts';

export const nothingTold: ToldEvents = {
  lasts: async () => [],
  after: async () => [],
  idsAt: async () => new Map(),
  sourceOf() {
    throw new Error('Nothing is told.');
  },
};
