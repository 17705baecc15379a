/** Repeats work on a cron schedule in UTC. */
import { Cron } from 'croner';

export function isCronExpression(text: string): boolean {
  try {
    new Cron(text, { paused: true }).stop();
    return true;
  } catch {
    // The library has no other way to signal this.
    return false;
  }
}

/**
 * One at a time: a time that comes while the work is still running is skipped. Returns a function that ends
 * the schedule.
 */
export function onSchedule(expression: string, work: () => Promise<void>, onError: (error: unknown) => void) {
  const job = new Cron(expression, { timezone: 'UTC', protect: true, catch: onError }, work);
  return () => job.stop();
}
