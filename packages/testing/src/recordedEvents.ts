/** Events as a store hands them out. */
import type { Position, RecordedEvent } from '@coffer/event-store';
import { type EventCodec, encodeMetadata } from '@coffer/kernel';

const RECORDED_AT = new Date('2026-01-01T00:00:00.000Z');

/** What is not given does not matter to the spec. */
export const recordedEvent = (given: Partial<RecordedEvent>): RecordedEvent => ({
  id: '11111111-1111-5111-8111-111111111111',
  stream: 'spec-test.app.1',
  revision: 0,
  position: '1' as Position,
  type: 'Happened',
  data: '{}',
  metadata: metadataAt(RECORDED_AT, 1),
  recordedAt: RECORDED_AT,
  ...given,
});

/** Event number 0, 1, ... of a stream, which is all of the log. */
export function recordedHistory<Event>(
  codec: EventCodec<Event>,
  stream: string,
  events: readonly Event[],
  timeOf: (revision: number) => Date = () => RECORDED_AT,
): readonly RecordedEvent[] {
  return events.map((event, revision) => {
    const { type, data, schemaVersion } = codec.encode(event);
    const recordedAt = timeOf(revision);
    const metadata = metadataAt(recordedAt, schemaVersion);
    const position = `${revision}` as Position;
    return recordedEvent({
      id: `event-${revision}`,
      stream,
      revision,
      position,
      type,
      data,
      metadata,
      recordedAt,
    });
  });
}

const metadataAt = (time: Date, schemaVersion: number): string =>
  encodeMetadata(
    { correlationId: 'request-1', actor: 'key:1', occurredAt: time.toISOString() },
    schemaVersion,
  );
