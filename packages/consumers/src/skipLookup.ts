import type { PoisonEventError } from './errors.ts';

/**
 * Whether an operator has told the consumer to pass over the event. Asked only about one that it cannot take: a release
 * that can take it does. The answer stands in the log, so that it is the same on every node and in every fold.
 */
export type SkipLookup = (consumer: string, event: PoisonEventError['event']) => Promise<boolean>;

export const nothingIsSkipped: SkipLookup = async () => false;
