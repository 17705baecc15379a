/** State machines: an object is in exactly one of a few named states. */
import assert from 'node:assert/strict';

export type Transitions<State extends string> = { readonly [Each in State]: readonly State[] };

/** Moves an object into its next state; asserts that the transition is listed. */
export function transitionsOf<State extends string>(kind: string, transitions: Transitions<State>) {
  return (one: { state: State }, next: State): void => {
    assert(transitions[one.state].includes(next), `${kind} that is ${one.state} cannot be ${next} next`);
    one.state = next;
  };
}
