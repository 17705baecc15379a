/** Reads that continue: first what is in the log, then what arrives. */

import { randomUUID } from 'node:crypto';
import type { LogPlace, Position } from '@coffer/event-store';
import streams, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { filterOf } from './filters.ts';
import type { StoreInTurns } from './readTurns.ts';
import { RefusalError } from './refusals.ts';
import {
  countOf,
  idFormOf,
  positionNumber,
  positionOf,
  recordedEventReader,
  streamNameOf,
  wirePosition,
} from './wire.ts';

export async function* subscribeToAll(
  store: StoreInTurns,
  asked: ReadReq.Options,
  signal: AbortSignal,
): AsyncIterable<ReadResp> {
  const filter = filterOf(asked);
  const toWire = recordedEventReader(idFormOf(asked));
  const after = await startOfAll(store, asked);
  yield confirmation();
  let seen = after?.position;
  let sinceCheckpoint = 0;
  for await (const message of store.subscribeToAll({ after, signal })) {
    if (message.kind !== 'events') {
      // Whenever it turns from old to new events or back, the client gets a checkpoint.
      if (filter && seen !== undefined) {
        sinceCheckpoint = 0;
        yield checkpoint(seen);
      }
      yield message.kind === 'caughtUp' ? caughtUp() : fellBehind();
      continue;
    }
    const wanted = filter?.wanted(message.events);
    for (const [index, event] of message.events.entries()) {
      if (wanted?.[index] !== false) yield toWire(event);
      seen = event.position;
      sinceCheckpoint += 1;
      if (filter && sinceCheckpoint >= filter.checkpointEvery) {
        sinceCheckpoint = 0;
        yield checkpoint(seen);
      }
    }
  }
}

/**
 * Existing events are read from the stream; new ones are picked out of the log, starting where the log was before that
 * read, so that nothing in between is missed.
 */
export async function* subscribeToStream(
  store: StoreInTurns,
  asked: ReadReq.Options,
  signal: AbortSignal,
): AsyncIterable<ReadResp> {
  const stream = streamNameOf(asked.getStream()?.getStreamIdentifier());
  const toWire = recordedEventReader(idFormOf(asked));
  const after = await store.head();
  let seen = await startOfStream(store, stream, asked);
  yield confirmation();
  for await (const page of store.readStream(stream, { fromRevision: seen + 1 })) {
    for (const event of page) {
      yield toWire(event);
      seen = event.revision;
    }
  }
  for await (const message of store.subscribeToAll({ after, signal })) {
    if (message.kind !== 'events') {
      yield message.kind === 'caughtUp' ? caughtUp() : fellBehind();
      continue;
    }
    for (const event of message.events) {
      if (event.stream === stream && event.revision > seen) yield toWire(event);
    }
  }
}

/** The revision after which the client wants the stream; -1 for all of it. */
async function startOfStream(store: StoreInTurns, stream: string, asked: ReadReq.Options): Promise<number> {
  const { RevisionOptionCase: Case } = streams.ReadReq.Options.StreamOptions;
  const from = asked.getStream();
  switch (from?.getRevisionOptionCase()) {
    case Case.REVISION:
      return countOf(from.getRevision());
    case Case.END: {
      const [head] = await store.heads([stream]);
      return head?.revision ?? -1;
    }
    default:
      return -1;
  }
}

/** The place after which the client wants the log. */
async function startOfAll(store: StoreInTurns, asked: ReadReq.Options): Promise<LogPlace | undefined> {
  const { AllOptionCase: Case } = streams.ReadReq.Options.AllOptions;
  const from = asked.getAll();
  switch (from?.getAllOptionCase()) {
    case Case.POSITION:
      return placeAt(store, positionNumber(from.getPosition()?.getCommitPosition() ?? '0'));
    case Case.END:
      return store.head();
    default:
      return undefined;
  }
}

/**
 * The newest event up to a position that a client has kept. Throws a `RefusalError` for one that the log has not
 * reached: waiting there would skip everything until then.
 */
async function placeAt(store: StoreInTurns, number: bigint): Promise<LogPlace | undefined> {
  if (number === 0n) return undefined;
  let place: LogPlace | undefined;
  const upTo = store.readAll({ direction: 'backwards', from: positionOf(number + 1n), limit: 1 });
  for await (const [event] of upTo) place = event && { position: event.position, eventId: event.id };
  if (place?.position === positionOf(number)) return place;
  const head = await store.head();
  if (head?.position !== place?.position) return place;
  throw new RefusalError(
    'beyondEnd',
    `Position ${number} is beyond the end of the log, which is at ${head?.position ?? 'its beginning'}.`,
  );
}

const confirmation = () =>
  new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID()),
  );
const caughtUp = () => new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp());
const fellBehind = () => new streams.ReadResp().setFellBehind(new streams.ReadResp.FellBehind());

function checkpoint(position: Position): ReadResp {
  const wire = wirePosition(position);
  const place = new streams.ReadResp.Checkpoint().setCommitPosition(wire).setPreparePosition(wire);
  return new streams.ReadResp().setCheckpoint(place);
}
