/**
 * Deciders in the words of the rule: given what happened, when a command comes, then this happens.
 *
 * Each sentence proves more than it says: every event must survive the codec unchanged, and a command that led to
 * events is sent twice, the second time adding nothing and, if it is a replay, repeating the answer.
 */
import {
  type Decision,
  encodeMetadata,
  Rejection,
  type RejectionDetails,
  type StreamType,
} from '@coffer/kernel';
import { expect } from 'chai';

interface Outcome<Event, Answer> {
  /** Exactly these events, in this order. */
  thenHappened(...events: readonly Event[]): AnswerOf<Answer>;
  /** Not refused, yet no event. */
  thenNothingHappened(): AnswerOf<Answer>;
  /** Whatever happened, this was answered. */
  thenAnswers(answer: Answer): void;
  /** Refused with this code and exactly these details. */
  thenRejects(code: string, details?: RejectionDetails): void;
}

interface AnswerOf<Answer> {
  /** The first answer to this command. */
  andAnswers(answer: Answer): void;
  /** The answer repeats one for a write that is already in the stream. */
  andReplays(answer: Answer): void;
}

export type Given<Command, Event, Answer> = (...events: readonly Event[]) => {
  readonly when: (command: Command) => Outcome<Event, Answer>;
};

/** `const given = givenWhenThen(account)`, then `given(...events).when(command).thenHappened(...events)`. */
export function givenWhenThen<Command, Event, State, Answer>(
  type: StreamType<Command, Event, State, Answer>,
): Given<Command, Event, Answer> {
  const foldStored = (state: State, events: readonly Event[]) =>
    events.reduce((folded, event) => type.evolve(folded, throughCodec(type, event)), state);

  return (...history) => ({
    when(command) {
      const before = foldStored(type.initialState, history);
      const decide = () => type.decide(before, command);

      return {
        thenHappened(...events) {
          const decision = decide();
          expect(decision.events).to.deep.equal(events);
          expect(decision.replayed ?? false, 'an event is not a replay').to.equal(false);
          const again = type.decide(foldStored(before, decision.events), command);
          expect(again.events, 'the same command again').to.deep.equal([]);
          if (again.replayed) expect(again.answer, 'the replayed answer').to.deep.equal(decision.answer);
          return answerOf(decision);
        },
        thenNothingHappened() {
          const decision = decide();
          expect(decision.events).to.deep.equal([]);
          return answerOf(decision);
        },
        thenAnswers(answer) {
          expect(decide().answer).to.deep.equal(answer);
        },
        thenRejects(code, details = {}) {
          const refusal = refusalOf(decide);
          expect({ code: refusal.code, details: refusal.details }).to.deep.equal({ code, details });
        },
      };
    },
  });
}

function answerOf<Event, Answer>(decision: Decision<Event, Answer>): AnswerOf<Answer> {
  const expectAnswer = (answer: Answer, replayed: boolean) =>
    expect({ answer: decision.answer, replayed: decision.replayed ?? false }).to.deep.equal({
      answer,
      replayed,
    });
  return {
    andAnswers: (answer) => void expectAnswer(answer, false),
    andReplays: (answer) => void expectAnswer(answer, true),
  };
}

/** An event as the store gives it back. */
function throughCodec<Command, Event, State, Answer>(
  { codec }: StreamType<Command, Event, State, Answer>,
  event: Event,
): Event {
  const { schemaVersion, ...stored } = codec.encode(event);
  const metadata = { correlationId: 'given', actor: 'operator', occurredAt: '2026-01-31T12:00:00.000Z' };
  const decoded = codec.decode({ ...stored, metadata: encodeMetadata(metadata, schemaVersion) });
  expect(decoded, 'the event after encoding and decoding').to.deep.equal(event);
  return decoded;
}

function refusalOf(decide: () => unknown): Rejection {
  let decision: unknown;
  try {
    decision = decide();
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  return expect.fail(`expected a refusal, not ${describe(decision)}`);
}

function describe(decision: unknown): string {
  return JSON.stringify(decision, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
