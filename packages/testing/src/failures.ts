/** How a promise fails. */
import { Rejection } from '@coffer/kernel';
import { expect } from 'chai';

/** The error it is rejected with; it must be. */
export async function failureOf(pending: Promise<unknown>): Promise<Error> {
  const failure = await pending.then(
    () => expect.fail('It did not fail.'),
    (error: unknown) => error,
  );
  if (failure instanceof Error) return failure;
  throw failure;
}

/** A rule must refuse it. */
export async function refusalOf(pending: Promise<unknown>) {
  const failure = await failureOf(pending);
  if (!(failure instanceof Rejection)) throw failure;
  return { code: failure.code, details: failure.details };
}

/** The code of the rule that refuses it, or `done`. */
export const codeOf = (pending: Promise<unknown>): Promise<string> =>
  pending.then(
    () => 'done',
    (error: unknown) => (error instanceof Rejection ? error.code : Promise.reject(error)),
  );
