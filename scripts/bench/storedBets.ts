/** Stored bets of typical size: what both sides of the comparison write. */
import type { AppendRequest, EventToAppend } from '@coffer/event-store';
import { createUuidSource } from './preparedRequest.ts';

interface BetAppend extends AppendRequest {
  readonly events: readonly [EventToAppend];
}

export interface BetStream {
  readonly stream: string;
  /** The next event. */
  readonly nextRevision: number;
  /** The next append, at the stream's current revision. */
  next(): BetAppend;
  /** To be called when it is in the log. */
  appended(append: BetAppend): void;
}

const METADATA =
  '{"v":1,"correlationId":"01234567-89ab-4cde-8f01-23456789abcd","actor":"key:key_01jz0000000000000000000000",' +
  '"occurredAt":"2026-01-01T00:00:00.000Z"}';

/** Made cheaply, so that the store is measured and not the creation of events. */
export function createBetStreams(name: string, count: number): readonly BetStream[] {
  const uuids = createUuidSource();
  const uuid = Buffer.from(uuids.prefix + '0'.repeat(12));
  const nextUuid = (): string => {
    uuids.writeNext(uuid, uuids.prefix.length);
    return uuid.toString('latin1');
  };
  return Array.from({ length: count }, (_, index) => createBetStream(`${name}${index}`, nextUuid));
}

function createBetStream(name: string, nextUuid: () => string): BetStream {
  const stream = `playSession-test.app_01jz0000000000000000000000.ses_${name.padStart(26, '0')}`;
  let revision = -1;
  let lastEventId: string | undefined;
  return {
    stream,
    get nextRevision() {
      return revision + 1;
    },
    next: () => ({
      stream,
      expectedRevision: revision < 0 ? 'noStream' : revision,
      ...(lastEventId === undefined ? {} : { expectedLastEventId: lastEventId }),
      events: [betPlaced(nextUuid())],
    }),
    appended({ events: [event] }) {
      revision += 1;
      lastEventId = event.id;
    },
  };
}

function betPlaced(id: string): EventToAppend {
  return {
    id,
    type: 'BetPlaced',
    data: `{"transactionUuid":"${id}","amount":"1","balance":"999999999"}`,
    metadata: METADATA,
  };
}
