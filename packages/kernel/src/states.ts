/** Something that is in exactly one of a few named states at a time. */
import assert from 'node:assert/strict';

/** For each state, those that may follow it. */
export type Transitions<State extends string> = { readonly [Each in State]: readonly State[] };

/** Brings one of its kind into its next state; a transition that is not listed is a fault of the program. */
export function transitionsOf<State extends string>(kind: string, transitions: Transitions<State>) {
  return (one: { state: State }, next: State): void => {
    assert(transitions[one.state].includes(next), `${kind} that is ${one.state} cannot be ${next} next`);
    one.state = next;
  };
}
