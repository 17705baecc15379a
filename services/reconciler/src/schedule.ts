/** When something is done again, by a cron expression in UTC. */
import { Cron } from 'croner';

export function isCronExpression(text: string): boolean {
  try {
    new Cron(text, { paused: true }).stop();
    return true;
  } catch {
    // The library has no other way to say so.
    return false;
  }
}

/** One at a time: a time that comes while the work is still at it is passed over. Returns what ends it. */
export function onSchedule(expression: string, work: () => Promise<void>, onError: (error: unknown) => void) {
  const job = new Cron(expression, { timezone: 'UTC', protect: true, catch: onError }, work);
  return () => job.stop();
}
