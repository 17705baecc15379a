/**
 * The outcome of an append, one case each: data, so that all backends follow exactly the same rules. They are the rules
 * of EventStoreDB's writer, as far as a single stream that is never deleted can show them.
 *
 * Letters stand for events: the same letter is the same event id, in whichever stream.
 */
import type { ExpectedRevision } from '../port.ts';

type AppendOutcome =
  /** Written; the last event has this revision. */
  | { readonly appendedAt: number }
  /** Nothing written: these events are there already, the last of them at this revision. */
  | { readonly foundAt: number }
  /** Nothing written: `WrongExpectedRevisionError` with this actual revision. */
  | { readonly wrongRevision: { readonly actual: number | undefined } }
  /** Nothing written: `LogRewrittenError`. */
  | { readonly logRewritten: true };

export interface AppendRule {
  readonly rule: string;
  /** The stream before, appended one event at a time. */
  readonly given: readonly string[];
  /** The contents of another stream. */
  readonly givenElsewhere?: readonly string[];
  readonly expectedRevision: ExpectedRevision;
  readonly expectedLastEvent?: string;
  readonly events: readonly string[];
  readonly outcome: AppendOutcome;
}

export const appendRules: readonly AppendRule[] = [
  // 1. The expected revision is the current one: accepted, and event ids are not compared.
  {
    rule: 'a new stream begins with "noStream"',
    given: [],
    expectedRevision: 'noStream',
    events: ['a', 'b'],
    outcome: { appendedAt: 1 },
  },
  {
    rule: 'the current revision is accepted',
    given: ['a', 'b'],
    expectedRevision: 1,
    events: ['c'],
    outcome: { appendedAt: 2 },
  },
  {
    rule: 'at the current revision an event id may occur again',
    given: ['a'],
    expectedRevision: 0,
    events: ['a'],
    outcome: { appendedAt: 1 },
  },
  {
    rule: 'an id in another stream does not matter',
    given: [],
    givenElsewhere: ['a'],
    expectedRevision: 'noStream',
    events: ['a'],
    outcome: { appendedAt: 0 },
  },

  // 2. The expected revision is past: only a retry, identified by the ids at the expected places, succeeds.
  {
    rule: 'a retry is found',
    given: ['a', 'b'],
    expectedRevision: 0,
    events: ['b'],
    outcome: { foundAt: 1 },
  },
  {
    rule: 'a retry of the first append is found',
    given: ['a', 'b'],
    expectedRevision: 'noStream',
    events: ['a', 'b'],
    outcome: { foundAt: 1 },
  },
  {
    rule: 'a retry is found before later events',
    given: ['a', 'b', 'c', 'd', 'e'],
    expectedRevision: 0,
    events: ['b', 'c'],
    outcome: { foundAt: 2 },
  },
  {
    rule: 'a retry is found even if it names the event at the expected revision',
    given: ['a', 'b', 'c'],
    expectedRevision: 0,
    expectedLastEvent: 'a',
    events: ['b'],
    outcome: { foundAt: 1 },
  },
  {
    rule: 'other events at a past revision are refused',
    given: ['a', 'b'],
    expectedRevision: 0,
    events: ['x'],
    outcome: { wrongRevision: { actual: 1 } },
  },
  {
    rule: 'an existing stream is not begun again',
    given: ['a', 'b'],
    expectedRevision: 'noStream',
    events: ['x'],
    outcome: { wrongRevision: { actual: 1 } },
  },
  {
    rule: 'a retry whose last event differs is refused, and none of it is written',
    given: ['a', 'b', 'c'],
    expectedRevision: 0,
    events: ['b', 'x'],
    outcome: { wrongRevision: { actual: 2 } },
  },
  {
    rule: 'a retry that continues past the end is refused, and none of it is written',
    given: ['a', 'b'],
    expectedRevision: 0,
    events: ['b', 'c'],
    outcome: { wrongRevision: { actual: 1 } },
  },
  {
    rule: 'a retry at another place is refused',
    given: ['a', 'b', 'c'],
    expectedRevision: 0,
    events: ['c'],
    outcome: { wrongRevision: { actual: 2 } },
  },
  {
    rule: 'a retry in another order is refused',
    given: ['a', 'b', 'c'],
    expectedRevision: 0,
    events: ['c', 'b'],
    outcome: { wrongRevision: { actual: 2 } },
  },

  // 3. The expected revision has not been reached.
  {
    rule: 'a revision beyond the end is refused',
    given: ['a'],
    expectedRevision: 1,
    events: ['b'],
    outcome: { wrongRevision: { actual: 0 } },
  },
  {
    rule: 'a revision of a stream that does not exist is refused',
    given: [],
    expectedRevision: 0,
    events: ['a'],
    outcome: { wrongRevision: { actual: undefined } },
  },
  {
    rule: 'a revision beyond the end is refused whatever the ids are',
    given: ['a', 'b'],
    expectedRevision: 2,
    events: ['b'],
    outcome: { wrongRevision: { actual: 1 } },
  },

  // 4. No exact revision: a retry is identified by ids among the recent events of the stream, which is a weak check.
  {
    rule: '"any" begins a stream',
    given: [],
    expectedRevision: 'any',
    events: ['a'],
    outcome: { appendedAt: 0 },
  },
  {
    rule: '"any" continues a stream',
    given: ['a'],
    expectedRevision: 'any',
    events: ['b', 'c'],
    outcome: { appendedAt: 2 },
  },
  {
    rule: '"any" finds a recent retry',
    given: ['a', 'b', 'c', 'd'],
    expectedRevision: 'any',
    events: ['b', 'c'],
    outcome: { foundAt: 2 },
  },
  {
    rule: '"any" does not take the event of another stream for a retry',
    given: ['a'],
    givenElsewhere: ['x'],
    expectedRevision: 'any',
    events: ['x'],
    outcome: { appendedAt: 1 },
  },
  {
    rule: '"streamExists" continues a stream',
    given: ['a'],
    expectedRevision: 'streamExists',
    events: ['b'],
    outcome: { appendedAt: 1 },
  },
  {
    rule: '"streamExists" finds a recent retry',
    given: ['a', 'b'],
    expectedRevision: 'streamExists',
    events: ['b'],
    outcome: { foundAt: 1 },
  },
  {
    rule: '"streamExists" refuses a stream that does not exist',
    given: [],
    expectedRevision: 'streamExists',
    events: ['a'],
    outcome: { wrongRevision: { actual: undefined } },
  },

  // 5. An append of several events of which some are known: the first id decides.
  {
    rule: '"any" refuses events if the first is known and a later one is not',
    given: ['a', 'b'],
    expectedRevision: 'any',
    events: ['b', 'x'],
    outcome: { wrongRevision: { actual: 1 } },
  },
  {
    rule: '"any" writes all events if the first is unknown, even those that are known',
    given: ['a', 'b'],
    expectedRevision: 'any',
    events: ['x', 'b'],
    outcome: { appendedAt: 3 },
  },

  // Our addition: a caller may name the event it has seen at the expected revision.
  {
    rule: 'the event named at the current revision is found',
    given: ['a', 'b'],
    expectedRevision: 1,
    expectedLastEvent: 'b',
    events: ['c'],
    outcome: { appendedAt: 2 },
  },
  {
    rule: 'an event other than the one named at the current revision means that the log was rewritten',
    given: ['a', 'b'],
    expectedRevision: 1,
    expectedLastEvent: 'x',
    events: ['c'],
    outcome: { logRewritten: true },
  },
];
