/** Failures on their way to another thread: a structured clone of an error loses its class and its own fields. */
import { Rejection } from '@coffer/kernel';
import * as errors from './errors.ts';

export interface PortableFailure {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

const CLASSES: ReadonlyMap<string, { readonly prototype: Error }> = new Map(
  [Rejection, ...Object.values(errors)].map((one) => [one.name, one]),
);

export function packFailure(failure: unknown): PortableFailure {
  if (!(failure instanceof Error)) {
    return { name: 'Error', message: String(failure), stack: undefined, fields: {} };
  }
  const { name, message, stack } = failure;
  // A failure that we do not know may hold anything, such as a connection.
  return { name, message, stack, fields: CLASSES.has(name) ? { ...failure } : {} };
}

/** Of the class that was packed if the caller may tell it from others; otherwise a plain error. */
export function unpackFailure({ name, message, stack, fields }: PortableFailure): Error {
  const failure = new Error(message);
  Object.setPrototypeOf(failure, CLASSES.get(name)?.prototype ?? Error.prototype);
  return Object.assign(failure, fields, stack === undefined ? {} : { stack });
}
