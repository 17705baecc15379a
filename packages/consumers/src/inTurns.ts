import { setImmediate } from 'node:timers/promises';

/** An event costs some microseconds. */
const EVENTS_A_TURN = 250;

/** The items in parts, between which others get a turn. */
export async function* inTurns<Item>(
  items: readonly Item[],
  count = EVENTS_A_TURN,
): AsyncGenerator<readonly Item[]> {
  for (let from = 0; from < items.length; from += count) {
    if (from > 0) await setImmediate();
    yield items.length <= count ? items : items.slice(from, from + count);
  }
}
