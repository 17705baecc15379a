/** What the log already holds where an append should go. */
import { LogRewrittenError, WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, AppendResult, ExpectedRevision } from '../port.ts';
import type { LogReader } from './logReader.ts';

export type PlaceReader = Pick<LogReader, 'readStream' | 'heads'>;

export interface PlaceBefore {
  /** The append's own events. */
  readonly found?: AppendResult;
  /** Of the stream, for an append without an exact revision; undefined if it does not exist. */
  readonly lastRevision?: number;
}

/** Looks for the append's events at the expected place. Throws the port's errors if the place is not as expected. */
export async function lookAt(reader: PlaceReader, request: AppendRequest): Promise<PlaceBefore> {
  const { stream, expectedRevision, expectedLastEventId, events } = request;
  if (typeof expectedRevision !== 'number' && expectedRevision !== 'noStream') {
    const [head] = await reader.heads([stream]);
    return head ? { lastRevision: head.revision } : {};
  }
  const isFirst = expectedRevision === 'noStream';
  const [expected, ...behind] = await readPlace(
    reader,
    stream,
    isFirst ? undefined : expectedRevision,
    events.length,
  );
  if (!isFirst && expected === undefined) throw await wrongRevision(reader, stream, expectedRevision);
  if (behind.length === 0) {
    if (expectedLastEventId !== undefined && expected?.id !== expectedLastEventId.toLowerCase()) {
      throw new LogRewrittenError(
        `Stream ${stream} holds a different event at ${expectedRevision} than was read from it.`,
      );
    }
    return {};
  }
  const last = behind[events.length - 1];
  if (last && events.every(({ id }, index) => behind[index]?.id === id.toLowerCase())) {
    return { found: { revision: last.revision, position: last.position, alreadyAppended: true } };
  }
  throw await wrongRevision(reader, stream, expectedRevision);
}

/** The event at the revision, undefined if there is none, and the events after it, up to a limit. */
async function readPlace(reader: PlaceReader, stream: string, revision: number | undefined, count: number) {
  const found = [];
  const range = { fromRevision: revision ?? 0, limit: revision === undefined ? count : count + 1 };
  for await (const page of reader.readStream(stream, range)) found.push(...page);
  return revision === undefined ? [undefined, ...found] : found;
}

export async function wrongRevision(
  reader: PlaceReader,
  stream: string,
  expected: ExpectedRevision,
): Promise<WrongExpectedRevisionError> {
  const [head] = await reader.heads([stream]);
  return new WrongExpectedRevisionError(stream, expected, head?.revision);
}
