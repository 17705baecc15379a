/** The report of a run that does not fit: what was requested, and what the log has about it. */
import { parseStreamName } from '@coffer/kernel';
import { type Attempt, operationsOf, type Run } from './attempts.ts';

const MOST_LINES = 40;

/** An answer that does not fit, and what the model would have answered. */
interface UnfitAnswer {
  readonly attempt: Attempt;
  readonly possible: readonly { readonly ordinal: number; readonly answer: string }[];
  readonly isMatched: boolean;
}

export function storyOfClaim(run: Run, { attempt, possible, isMatched }: UnfitAnswer, what: string): string {
  const subjects = subjectsOf(attempt);
  return [
    what + (isMatched ? ', whose money has not reached the player' : ''),
    lineOf(attempt),
    'At the states in question the model answers, by the number of events before:',
    ...possible.slice(-MOST_LINES).map(({ ordinal, answer }) => `  ${ordinal} ${answer}`),
    ...around(run, subjects),
  ].join('\n');
}

export function storyOfEvent(run: Run, ordinal: number, what: string): string {
  const event = run.events[ordinal - 1];
  if (!event) return what;
  const id = parseStreamName(event.stream)?.id.split('.')[0] ?? event.stream;
  return [`${what}:`, eventLine(run, ordinal - 1), ...around(run, [id], ordinal)].join('\n');
}

/** Ids by which related events and requests are found. */
function subjectsOf(attempt: Attempt): readonly string[] {
  if (attempt.call.kind === 'accounts') return [attempt.call.userId];
  return operationsOf(attempt).flatMap((operation) => [
    ...('sessionId' in operation ? [operation.sessionId] : []),
    ...('poolId' in operation ? [operation.poolId] : []),
    ...('userId' in operation ? [operation.userId] : []),
    ...('transactionUuid' in operation && operation.op === 'open' && operation.transactionUuid
      ? [operation.transactionUuid]
      : []),
  ]);
}

function around(run: Run, subjects: readonly string[], upTo = run.events.length): readonly string[] {
  const concerns = (text: string) => subjects.some((subject) => text.includes(subject));
  const events = run.events.flatMap((event, index) =>
    index < upTo + 5 && concerns(`${event.stream} ${event.data}`) ? [eventLine(run, index)] : [],
  );
  const attempts = run.attempts.map(lineOf).filter(concerns);
  return [
    'Events on the same:',
    ...events.slice(-MOST_LINES),
    'Requests on the same:',
    ...attempts.slice(-MOST_LINES),
  ];
}

function eventLine({ events }: Run, index: number): string {
  const event = events[index];
  return event ? `  ${index + 1} ${event.stream} ${event.type} ${event.data} ${event.metadata}` : '';
}

function lineOf({ id, place, call, sentAt, received }: Attempt): string {
  const answer = received
    ? `answered at ${received.at}: ${received.status}${received.replayed ? ' replayed' : ''} ${received.text}`
    : 'not answered';
  return `  ${id} of ${place.name}, sent at ${sentAt}: ${JSON.stringify(call)}, ${answer}`;
}
