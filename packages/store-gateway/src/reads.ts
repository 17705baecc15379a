/** Read: of a stream or of all, once or for as long as the client stays. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventPages, EventStore, ReadAllOptions, ReadStreamOptions } from '@coffer/event-store';
import streams, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { filterOf } from './filters.ts';
import { type InTurn, inTurns, type StoreInTurns } from './readTurns.ts';
import { callError, type GatewayLogger, RefusalError, toRefusal } from './refusals.ts';
import { subscribeToAll, subscribeToStream } from './subscriptions.ts';
import {
  countOf,
  idFormOf,
  positionNumber,
  positionOf,
  recordedEventReader,
  streamIdentifier,
  streamNameOf,
} from './wire.ts';

export interface ReadsOptions {
  readonly store: EventStore;
  readonly inTurn: InTurn;
  readonly logger: GatewayLogger | undefined;
}

/** The most open reads and subscriptions, of all clients together. */
export const MAX_READS = 500;
/** After this many messages the process yields to other work. */
const SLICE = 16;

/** Ends when the client goes; `signal` ends it with the message that the node is gone. */
export function readHandler(
  { store, inTurn, logger }: ReadsOptions,
  signal: AbortSignal,
): handleServerStreamingCall<ReadReq, ReadResp> {
  let open = 0;
  return (call) => {
    if (open >= MAX_READS) {
      const message = `The store gateway serves ${MAX_READS} reads at a time. Try again when some have ended.`;
      call.emit('error', callError(new RefusalError('tooMuchAtOnce', message)));
      return;
    }
    open += 1;
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const ended = AbortSignal.any([gone.signal, signal]);
    const work = async (): Promise<void> => {
      let written = 0;
      for await (const response of responses(inTurns(store, inTurn, ended), call.request, ended)) {
        if (!call.write(response)) await drained(call, ended);
        written += 1;
        if (written % SLICE === 0) await nextTurn();
        if (ended.aborted) break;
      }
      if (signal.aborted) throw new RefusalError('unavailable', 'The store gateway is stopping.');
    };
    work()
      .finally(() => {
        open -= 1;
      })
      .then(
        () => call.end(),
        (error: unknown) => {
          if (!gone.signal.aborted) call.emit('error', callError(toRefusal(error, logger)));
        },
      );
  };
}

/** The client reads at its own pace, and the store is asked for no more than it takes. */
function drained(call: ServerWritableStream<ReadReq, ReadResp>, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      call.off('drain', done);
      ended.removeEventListener('abort', done);
      resolve();
    };
    call.on('drain', done);
    ended.addEventListener('abort', done);
    if (ended.aborted) done();
  });
}

function responses(store: StoreInTurns, request: ReadReq, ended: AbortSignal): AsyncIterable<ReadResp> {
  const asked = request.getOptions();
  if (!asked) throw new RefusalError('badRequest', 'A read needs options.');
  const { StreamOptionCase, CountOptionCase } = streams.ReadReq.Options;
  if (asked.getCountOptionCase() === CountOptionCase.COUNT_OPTION_NOT_SET) {
    throw new RefusalError('badRequest', 'A read needs a count, unless it is a subscription.');
  }
  const isSubscription = asked.getCountOptionCase() === CountOptionCase.SUBSCRIPTION;
  switch (asked.getStreamOptionCase()) {
    case StreamOptionCase.STREAM:
      return isSubscription ? subscribeToStream(store, asked, ended) : readOfStream(store, asked);
    case StreamOptionCase.ALL:
      return isSubscription ? subscribeToAll(store, asked, ended) : readOfAll(store, asked);
    default:
      throw new RefusalError('badRequest', 'A read is of a stream or of all.');
  }
}

async function* readOfStream(store: StoreInTurns, asked: ReadReq.Options): AsyncIterable<ReadResp> {
  const identifier = asked.getStream()?.getStreamIdentifier();
  const stream = streamNameOf(identifier);
  const toWire = recordedEventReader(idFormOf(asked));
  let isEmpty = true;
  // There are no system streams and no stream metadata.
  const pages = stream.startsWith('$') ? [] : streamPages(store, stream, asked);
  for await (const page of pages) {
    for (const event of page) {
      isEmpty = false;
      yield toWire(event);
    }
  }
  const wantsEnds = (asked.getControlOption()?.getCompatibility() ?? 0) >= COMPATIBILITY_WITH_ENDS;
  if (!isEmpty && !wantsEnds) return;
  const [head] = stream.startsWith('$') ? [] : await store.heads([stream]);
  if (!head) {
    const notFound = new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(stream));
    yield new streams.ReadResp().setStreamNotFound(notFound);
  } else if (wantsEnds) {
    const next = head.revision + 1;
    if (isEmpty && directionOf(asked) === 'forwards' && isBehind(asked, next)) {
      yield new streams.ReadResp().setFirstStreamPosition(`${next}`);
    }
    yield new streams.ReadResp().setLastStreamPosition(`${head.revision}`);
  }
}

/** From this version on, clients know the answers that tell where a stream begins and ends. */
const COMPATIBILITY_WITH_ENDS = 1;

/** Whether the client has asked for events after that revision. */
function isBehind(asked: ReadReq.Options, revision: number): boolean {
  const from = asked.getStream();
  const { RevisionOptionCase: Case } = streams.ReadReq.Options.StreamOptions;
  return from?.getRevisionOptionCase() === Case.REVISION && countOf(from.getRevision()) > revision;
}

function streamPages(store: StoreInTurns, stream: string, asked: ReadReq.Options): EventPages | [] {
  const { RevisionOptionCase: Case } = streams.ReadReq.Options.StreamOptions;
  const from = asked.getStream();
  const common: ReadStreamOptions = { direction: directionOf(asked), limit: countOf(asked.getCount()) };
  switch (from?.getRevisionOptionCase()) {
    case Case.REVISION:
      return store.readStream(stream, { ...common, fromRevision: countOf(from.getRevision()) });
    case Case.END:
      return common.direction === 'forwards' ? [] : store.readStream(stream, common);
    default:
      return store.readStream(stream, { ...common, fromRevision: 0 });
  }
}

function directionOf(asked: ReadReq.Options): 'forwards' | 'backwards' {
  const { BACKWARDS } = streams.ReadReq.Options.ReadDirection;
  return asked.getReadDirection() === BACKWARDS ? 'backwards' : 'forwards';
}

async function* readOfAll(store: StoreInTurns, asked: ReadReq.Options): AsyncIterable<ReadResp> {
  const filter = filterOf(asked);
  const toWire = recordedEventReader(idFormOf(asked));
  let left = countOf(asked.getCount());
  if (left === 0) return;
  const pages = allPages(store, asked, filter ? {} : { limit: left });
  for await (const page of pages) {
    const wanted = filter?.wanted(page);
    for (const [index, event] of page.entries()) {
      if (wanted?.[index] === false) continue;
      yield toWire(event);
      left -= 1;
      if (left === 0) return;
    }
  }
}

/** Forwards, a read includes the event at its position; backwards, it begins before it. */
function allPages(store: StoreInTurns, asked: ReadReq.Options, options: ReadAllOptions): EventPages | [] {
  const { AllOptionCase: Case } = streams.ReadReq.Options.AllOptions;
  const direction = directionOf(asked);
  const from = asked.getAll();
  switch (from?.getAllOptionCase()) {
    case Case.POSITION: {
      const number = positionNumber(from.getPosition()?.getCommitPosition() ?? '0');
      if (direction === 'backwards')
        return store.readAll({ ...options, direction, from: positionOf(number) });
      const before = number > 0n ? { from: positionOf(number - 1n) } : {};
      return store.readAll({ ...options, direction, ...before });
    }
    case Case.END:
      return direction === 'forwards' ? [] : store.readAll({ ...options, direction });
    default:
      return direction === 'backwards' ? [] : store.readAll({ ...options, direction });
  }
}
