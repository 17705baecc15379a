/** Events, ids and positions in the form of the protocol. */

import type { Position, RecordedEvent } from '@coffer/event-store';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { RefusalError } from './refusals.ts';

/** `created` counts steps of 100 ns. */
const TICKS_PER_MS = 10_000n;
/** The largest position that every store can be asked for, with room for one after it. */
const MAX_POSITION = 2n ** 63n - 2n;

/**
 * The metadata of an event in the store is the text of a JSON object; this one, which no client writes, stands for
 * none, so that events without metadata are returned without, and events with an empty object with that.
 */
export const NO_METADATA = '{ }';

/** How the client wants ids to be written. */
export type IdForm = 'text' | 'structured';

export const idFormOf = (asked: ReadReq.Options): IdForm =>
  asked.getUuidOption()?.hasStructured() ? 'structured' : 'text';

export const recordedEventReader =
  (idForm: IdForm) =>
  (event: RecordedEvent): ReadResp => {
    const position = wirePosition(event.position);
    const recorded = new streams.ReadResp.ReadEvent.RecordedEvent();
    recorded.setId(wireId(event.id, idForm));
    recorded.setStreamIdentifier(streamIdentifier(event.stream));
    recorded.setStreamRevision(`${event.revision}`);
    recorded.setCommitPosition(position);
    recorded.setPreparePosition(position);
    recorded.setData(Buffer.from(event.data));
    if (event.metadata !== NO_METADATA) recorded.setCustomMetadata(Buffer.from(event.metadata));
    recorded
      .getMetadataMap()
      .set('type', event.type)
      .set('content-type', 'application/json')
      .set('created', `${BigInt(event.recordedAt.getTime()) * TICKS_PER_MS}`);
    const read = new streams.ReadResp.ReadEvent();
    read.setEvent(recorded);
    read.setCommitPosition(position);
    return new streams.ReadResp().setEvent(read);
  };

export function streamIdentifier(stream: string) {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}

/** Throws a `RefusalError` if the name is missing or not text. */
export function streamNameOf(identifier: InstanceType<typeof shared.StreamIdentifier> | undefined): string {
  const name = textOf(identifier?.getStreamName_asU8() ?? new Uint8Array(), 'The name of a stream');
  if (name === '') throw new RefusalError('badRequest', 'A stream needs a name.');
  if (name.includes('\0')) throw new RefusalError('badRequest', 'The name of a stream must not contain NUL.');
  return name;
}

/** Throws a `RefusalError` that begins with `what` if the bytes are not UTF-8. */
export function textOf(bytes: Uint8Array, what: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new RefusalError('badRequest', `${what} must be UTF-8.`);
  }
}
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function idOf(id: InstanceType<typeof shared.UUID> | undefined): string {
  const structured = id?.getStructured();
  if (!structured) return id?.getString() ?? '';
  const half = (bits: string) => BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0');
  const digits = half(structured.getMostSignificantBits()) + half(structured.getLeastSignificantBits());
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function wireId(id: string, form: IdForm = 'text') {
  if (form === 'text') return new shared.UUID().setString(id);
  const digits = id.replaceAll('-', '');
  const half = (from: number) => `${BigInt.asIntN(64, BigInt(`0x${digits.slice(from, from + 16)}`))}`;
  const structured = new shared.UUID.Structured();
  structured.setMostSignificantBits(half(0));
  structured.setLeastSignificantBits(half(16));
  return new shared.UUID().setStructured(structured);
}

/**
 * On the wire a position is a pair of numbers, commit and prepare, which are equal for an event appended by itself.
 * Throws for a store whose positions are not whole numbers: nothing of it can be served.
 */
export function wirePosition(position: Position): string {
  if (!/^\d{1,19}$/.test(position)) throw new Error(`Position ${position} is not a whole number.`);
  return position;
}

/** A position that a client sent; one beyond every log is clamped to what a store can be asked for. */
export function positionNumber(commit: string): bigint {
  const number = BigInt(commit);
  return number > MAX_POSITION ? MAX_POSITION : number;
}

/** The port's positions are decimal numbers as text, in the order of the log: see `wirePosition`. */
export const positionOf = (number: bigint) => `${number}` as Position;

/** A revision or a count, which has 64 bits in the protocol: what cannot be exact is beyond every stream. */
export function countOf(text: string): number {
  const number = BigInt(text);
  return number > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(number);
}
