/** The current time, passed to whatever needs it. Deciders get instants in their commands instead. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();

/** The instant as ISO 8601 UTC with milliseconds; calls within one millisecond share the text. */
export function isoTimeOf(clock: Clock): string {
  const now = clock();
  const ms = now.getTime();
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = now.toISOString();
  }
  return lastText;
}

let lastMs = Number.NaN;
let lastText = '';
