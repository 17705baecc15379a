import type { PoisonEventError } from './errors.ts';

/**
 * Whether an operator has told the consumer to skip the event. Asked only about an event that it cannot take: a release
 * that can take it does. The answer is in the log, so it is the same on every node and in every fold.
 */
export type SkipLookup = (consumer: string, event: PoisonEventError['event']) => Promise<boolean>;

export const nothingIsSkipped: SkipLookup = async () => false;
