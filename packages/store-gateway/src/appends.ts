/** Append, one per call, and BatchAppend, many over one long call. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type AppendRequest,
  createKnownPlaces,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  MAX_APPEND_BYTES,
  WrongExpectedRevisionError,
} from '@coffer/event-store';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams, {
  type AppendReq,
  type AppendResp,
  type BatchAppendReq,
  type BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { handleClientStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import { carryOut } from './appended.ts';
import {
  batchStatus,
  callError,
  type GatewayLogger,
  RefusalError,
  setExpected,
  toRefusal,
  wrongVersionStatus,
} from './refusals.ts';
import { countOf, idOf, NO_METADATA, streamNameOf, textOf, wireId, wirePosition } from './wire.ts';

/** The most appends in flight on a batch stream; beyond that it is not read until some are done. */
const MAX_IN_FLIGHT = 1_000;
/** The most unfinished appends, and their bytes. */
const MAX_UNFINISHED = 1_000;
const MAX_UNFINISHED_BYTES = 16 * 1024 * 1024;

export interface AppendsOptions {
  readonly store: Pick<EventStore, 'append' | 'heads' | 'readStream'>;
  readonly allowWrites: boolean;
  readonly logger: GatewayLogger | undefined;
}

/** An append as it arrives, part by part. */
interface Draft {
  readonly stream: string;
  readonly expectedRevision: ExpectedRevision;
  readonly events: EventToAppend[];
  bytes: number;
}

type ProposedMessage = AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage;

/** Throws a `RefusalError` for what this store cannot hold. */
function addTo(draft: Draft, message: ProposedMessage): void {
  const metadata = message.getCustomMetadata_asU8();
  const event = {
    id: idOf(message.getId()),
    type: typeOf(message),
    data: jsonObject(message.getData_asU8(), 'The data of an event'),
    metadata: metadata.length === 0 ? NO_METADATA : jsonObject(metadata, 'The metadata of an event'),
  };
  draft.bytes += message.getData_asU8().length + metadata.length;
  if (draft.bytes > MAX_APPEND_BYTES) {
    draft.events.length = 0;
    throw new RefusalError('maximumAppendSize', `An append has at most ${MAX_APPEND_BYTES} bytes.`);
  }
  draft.events.push(event);
}

function typeOf(message: ProposedMessage): string {
  const type = message.getMetadataMap().get('type');
  if (type === undefined) throw new RefusalError('missingMetadata', 'An event needs a type.');
  return type;
}

/** The text as it came, once it is certain that every reader of the log can read it. */
function jsonObject(bytes: Uint8Array, what: string): string {
  const text = textOf(bytes, what);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // The error below covers it.
  }
  throw new RefusalError('badRequest', `${what} is the text of a JSON object here.`);
}

function newDraft(
  stream: string,
  expectedRevision: ExpectedRevision,
  { allowWrites }: AppendsOptions,
): Draft {
  if (!allowWrites) throw new RefusalError('accessDenied', 'This store gateway is for reading only.');
  if (stream.startsWith('$')) throw new RefusalError('accessDenied', 'There are no system streams here.');
  return { stream, expectedRevision, events: [], bytes: 0 };
}

export function appendHandler(options: AppendsOptions): handleClientStreamingCall<AppendReq, AppendResp> {
  return (call, reply) => {
    const work = async (): Promise<AppendRequest> => {
      let draft: Draft | undefined;
      for await (const request of call as AsyncIterable<AppendReq>) {
        const asked = request.getOptions();
        if (asked) draft = newDraft(streamNameOf(asked.getStreamIdentifier()), expectedOf(asked), options);
        const message = request.getProposedMessage();
        if (!message) continue;
        if (!draft) throw new RefusalError('badRequest', 'An append begins with its options.');
        addTo(draft, message);
      }
      // The messages of a client that is gone end like those of one that is done; which it was is known one turn
      // later. A partial append counts for nothing.
      await nextTurn();
      if (call.cancelled) throw new RefusalError('unavailable', 'The client has broken off the append.');
      if (!draft) throw new RefusalError('badRequest', 'An append begins with its options.');
      return draft;
    };
    work()
      .then((request) => carryOut(options.store, request))
      .then(
        ({ revision, position }) => {
          const success = new streams.AppendResp.Success();
          if (revision === undefined) success.setNoStream(new shared.Empty());
          else success.setCurrentRevision(`${revision}`);
          if (position === undefined) success.setNoPosition(new shared.Empty());
          else {
            const wire = wirePosition(position);
            const place = new streams.AppendResp.Position();
            success.setPosition(place.setCommitPosition(wire).setPreparePosition(wire));
          }
          reply(null, new streams.AppendResp().setSuccess(success));
        },
        (error: unknown) => {
          // A client that is gone needs no answer.
          if (call.cancelled) return;
          if (error instanceof WrongExpectedRevisionError) reply(null, wrongVersionReply(error));
          else reply(callError(toRefusal(error, options.logger)));
        },
      );
  };
}

function wrongVersionReply({ expected, actual }: WrongExpectedRevisionError): AppendResp {
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (actual === undefined) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(`${actual}`);
  setExpected(expected, {
    revision: (text) => wrong.setExpectedRevision(text),
    noStream: () => wrong.setExpectedNoStream(new shared.Empty()),
    streamExists: () => wrong.setExpectedStreamExists(new shared.Empty()),
    any: () => wrong.setExpectedAny(new shared.Empty()),
  });
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
}

function expectedOf(asked: AppendReq.Options): ExpectedRevision {
  const { ExpectedStreamRevisionCase: Case } = streams.AppendReq.Options;
  switch (asked.getExpectedStreamRevisionCase()) {
    case Case.REVISION:
      return countOf(asked.getRevision());
    case Case.NO_STREAM:
      return 'noStream';
    case Case.STREAM_EXISTS:
      return 'streamExists';
    case Case.ANY:
      return 'any';
    default:
      throw new RefusalError('badRequest', 'An append must state the revision it expects.');
  }
}

function expectedOfBatch(asked: BatchAppendReq.Options): ExpectedRevision {
  const { ExpectedStreamPositionCase: Case } = streams.BatchAppendReq.Options;
  switch (asked.getExpectedStreamPositionCase()) {
    case Case.STREAM_POSITION:
      return countOf(asked.getStreamPosition());
    case Case.NO_STREAM:
      return 'noStream';
    case Case.STREAM_EXISTS:
      return 'streamExists';
    case Case.ANY:
      return 'any';
    default:
      throw new RefusalError('badRequest', 'An append must state the revision it expects.');
  }
}

interface Unfinished {
  /** In the client's bytes, even if they are not the name of a stream. */
  readonly stream: Uint8Array;
  /** When the client wants an answer, by its clock. */
  readonly deadline: number;
  draft: Draft | RefusalError;
}

export type BatchCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

/** `signal` ends the call once everything in flight has been answered. */
export function batchAppendHandler(options: AppendsOptions, signal: AbortSignal): (call: BatchCall) => void {
  return (call) => {
    const unfinished = new Map<string, Unfinished>();
    // The log below may be put back while this call stands, and its client relies on it that it is not.
    const places = createKnownPlaces();
    let inFlight = 0;
    let isEnding = false;

    const endWhenDone = (): void => {
      if (!isEnding || inFlight > 0 || call.cancelled || call.writableEnded) return;
      signal.removeEventListener('abort', onStop);
      if (signal.aborted) {
        fail(call, new RefusalError('unavailable', 'The store gateway is stopping.'));
      } else call.end();
    };
    const onStop = (): void => {
      isEnding = true;
      call.pause();
      endWhenDone();
    };
    const readOn = (): void => {
      if (!isEnding && inFlight < MAX_IN_FLIGHT && !call.writableNeedDrain) call.resume();
    };

    const settle = (response: BatchAppendResp): void => {
      if (call.cancelled || call.writableEnded) return;
      call.write(response);
      // Answers that the client does not read hold back new requests.
      if (call.writableNeedDrain) call.pause();
    };

    const behindKnown = (draft: Draft): AppendRequest => {
      const expectedLastEventId = places.eventBefore(draft);
      return expectedLastEventId === undefined ? draft : { ...draft, expectedLastEventId };
    };

    const answer = async (id: string, { draft, stream, deadline }: Unfinished): Promise<void> => {
      inFlight += 1;
      if (inFlight >= MAX_IN_FLIGHT) call.pause();
      const response = new streams.BatchAppendResp()
        .setCorrelationId(wireId(id))
        .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(stream));
      try {
        if (draft instanceof RefusalError) throw draft;
        const { revision, position } = await byDeadline(deadline, () =>
          carryOut(options.store, behindKnown(draft)),
        );
        if (revision !== undefined) places.written(draft, revision);
        const success = new streams.BatchAppendResp.Success();
        if (revision === undefined) success.setNoStream(new empty.Empty());
        else success.setCurrentRevision(`${revision}`);
        if (position === undefined) success.setNoPosition(new empty.Empty());
        else {
          const wire = wirePosition(position);
          const place = new shared.AllStreamPosition();
          success.setPosition(place.setCommitPosition(wire).setPreparePosition(wire));
        }
        response.setSuccess(success);
      } catch (error) {
        if (!(draft instanceof RefusalError)) places.forget(draft.stream);
        response.setError(
          error instanceof WrongExpectedRevisionError
            ? wrongVersionStatus(error)
            : batchStatus(toRefusal(error, options.logger)),
        );
      }
      inFlight -= 1;
      settle(response);
      endWhenDone();
      readOn();
    };

    const take = (request: BatchAppendReq): void => {
      if (isEnding) return;
      const id = idOf(request.getCorrelationId());
      const entry = unfinished.get(id) ?? begin(request, options);
      addAll(entry, request.getProposedMessagesList());
      if (request.getIsFinal()) {
        unfinished.delete(id);
        void answer(id, entry);
        return;
      }
      unfinished.set(id, entry);
      if (unfinished.size > MAX_UNFINISHED || bytesOf(unfinished.values()) > MAX_UNFINISHED_BYTES) {
        isEnding = true;
        fail(call, new RefusalError('tooMuchAtOnce', 'Too many appends have begun without being finished.'));
      }
    };

    signal.addEventListener('abort', onStop);
    call.on('data', take);
    call.on('drain', readOn);
    call.on('end', () => {
      isEnding = true;
      endWhenDone();
    });
    call.on('cancelled', () => {
      signal.removeEventListener('abort', onStop);
      unfinished.clear();
    });
    if (signal.aborted) onStop();
  };
}

function begin(request: BatchAppendReq, options: AppendsOptions): Unfinished {
  const asked = request.getOptions();
  const deadline = asked?.getDeadline();
  const stream = asked?.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array();
  return {
    stream,
    deadline: deadline ? deadline.getSeconds() * 1_000 + deadline.getNanos() / 1e6 : Infinity,
    draft: orRefusal(() => {
      if (!asked) throw new RefusalError('badRequest', 'An append begins with its options.');
      return newDraft(streamNameOf(asked.getStreamIdentifier()), expectedOfBatch(asked), options);
    }),
  };
}

/** A refusal applies to the rest of the append, which is answered when its last part has arrived. */
function addAll(entry: Unfinished, messages: readonly BatchAppendReq.ProposedMessage[]): void {
  const { draft } = entry;
  if (draft instanceof RefusalError) return;
  entry.draft = orRefusal(() => {
    for (const message of messages) addTo(draft, message);
    return draft;
  });
}

function orRefusal(make: () => Draft): Draft | RefusalError {
  try {
    return make();
  } catch (error) {
    if (error instanceof RefusalError) return error;
    throw error;
  }
}

function bytesOf(entries: Iterable<Unfinished>): number {
  let bytes = 0;
  for (const { draft } of entries) if (!(draft instanceof RefusalError)) bytes += draft.bytes;
  return bytes;
}

/** An append that has begun continues after the deadline: the client is then told that the outcome is unknown. */
async function byDeadline<Result>(deadline: number, work: () => Promise<Result>): Promise<Result> {
  const leftMs = deadline - Date.now();
  const late = () => new RefusalError('timeout', 'The deadline of the append has passed.');
  if (leftMs <= 0) throw late();
  const result = work();
  if (leftMs > MAX_TIMER_MS) return result;
  const passed = Promise.withResolvers<never>();
  // Whoever waits holds a connection, which keeps the process alive; a gateway that has stopped ends at once.
  const timer = setTimeout(() => passed.reject(late()), leftMs).unref();
  try {
    return await Promise.race([result, passed.promise]);
  } finally {
    clearTimeout(timer);
    // The client has had its answer.
    result.catch(() => undefined);
  }
}
/** The most that a timer can count. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function fail(call: BatchCall, refusal: RefusalError): void {
  call.emit('error', callError(refusal));
}
