import { OutcomeUnknownError, StoreOverloadedError, StoreUnreachableError } from './errors.ts';

/**
 * What a request does after its first append. A store that is away or full can then no longer mean that
 * nothing was done, so the caller is told to repeat the request.
 */
export async function afterFirstAppend<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnreachableError || error instanceof StoreOverloadedError)) throw error;
    throw new OutcomeUnknownError('The first append of the request stands, the next may not.', {
      cause: error,
    });
  }
}
