import { OutcomeUnknownError, StoreOverloadedError, StoreUnreachableError } from './errors.ts';

/**
 * Runs the part of a request that follows its first append. A store that is away or full no longer means that nothing
 * was written, so the caller is told to repeat the request.
 */
export async function afterFirstAppend<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnreachableError || error instanceof StoreOverloadedError)) throw error;
    throw new OutcomeUnknownError(
      'The first append of the request was written; a later one may not have been.',
      {
        cause: error,
      },
    );
  }
}
