import { OutcomeUnknownError, StoreOverloadedError, StoreUnreachableError } from './errors.ts';

/**
 * Runs the part of a request that follows its first append. A store that is away or full no longer means that nothing
 * was written, so the caller is told to repeat the request.
 */
export const afterFirstAppend = <Result>(work: () => Promise<Result>): Promise<Result> =>
  work().catch((cause: unknown) => {
    if (!(cause instanceof StoreUnreachableError || cause instanceof StoreOverloadedError)) throw cause;
    const message = 'The first append of the request was written; a later one may not have been.';
    throw new OutcomeUnknownError(message, { cause });
  });
