/**
 * One `BatchAppend` call: many appends over one stream, each with its own answer, in whatever order these come.
 *
 * What a caller is told when there is no answer: an append that waited here has not left this process
 * (`NotSentError`); one that was sent has an unknown outcome, which is any other error.
 */
import { randomUUID } from 'node:crypto';
import { convertToCommandError } from '@eventstore/db-client';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { AppendRequest, AppendResult } from '../port.ts';
import { batchRequest } from './batchWire.ts';
import { AnsweredError, isNotLeader, SilenceError } from './failures.ts';
import { positionOf } from './wire.ts';

type BatchResponse = InstanceType<typeof streams.BatchAppendResp>;

/** The call, as far as it is used here. */
export interface BatchCall {
  write(request: Buffer): boolean;
  end(): void;
  cancel(): void;
  on(event: 'data', listener: (response: BatchResponse) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'drain' | 'end', listener: () => void): unknown;
}

export interface BatchStreamOptions {
  readonly open: () => Promise<BatchCall>;
  /** After this long without an answer, `onSilence` is called, once. */
  readonly patienceMs: number;
  /** After this long, the outcome of an append is unknown. */
  readonly timeoutMs: number;
  readonly onSilence: () => void;
  /** Called once; with an error if the call has failed or the server has ended it. */
  readonly onEnded: (error?: Error) => void;
}

type Written = Pick<AppendResult, 'revision' | 'position'>;

export interface BatchStream {
  /** Throws `AnsweredError`, `NotSentError`; any other error leaves the outcome unknown. */
  append(request: AppendRequest): Promise<Written>;
  isOpen(): boolean;
  /** Accepts no more; the call ends once everything under way is answered or given up. */
  leave(): void;
  /** Gives up at once. */
  abandon(error: Error): void;
}

/** The append has not left this process. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

type State = 'opening' | 'open' | 'leaving' | 'ended';
const NEXT: Readonly<Record<State, readonly State[]>> = {
  opening: ['open', 'leaving', 'ended'],
  open: ['leaving', 'ended'],
  leaving: ['ended'],
  ended: [],
};

/** The gateway stops reading at 1,000 appends under way; further ones wait here, where it is known that they wait. */
const MAX_UNDER_WAY = 1_000;

interface Entry {
  readonly request: AppendRequest;
  readonly resolve: (written: Written) => void;
  readonly reject: (error: unknown) => void;
}

interface Sent extends Entry {
  readonly atMs: number;
}

export function openBatchStream(options: BatchStreamOptions): BatchStream {
  const { patienceMs, timeoutMs } = options;
  let state: State = 'opening';
  let call: BatchCall | undefined;
  const waiting: Entry[] = [];
  /** By correlation id, the oldest first. */
  const underWay = new Map<number, Sent>();
  let sent = 0;
  const idPrefix = randomUUID().slice(0, -COUNT_DIGITS);
  let isFull = false;
  let isSilent = false;
  let timer: NodeJS.Timeout | undefined;

  function become(next: State): void {
    if (!NEXT[state].includes(next))
      throw new Error(`A stream of appends that is ${state} is never ${next}.`);
    state = next;
  }

  function flush(): void {
    while (call && state === 'open' && !isFull && underWay.size < MAX_UNDER_WAY) {
      const entry = waiting.shift();
      if (!entry) break;
      sent += 1;
      underWay.set(sent, { ...entry, atMs: performance.now() });
      isFull = !call.write(batchRequest(idPrefix + digitsOf(sent), entry.request, timeoutMs));
    }
    watch();
  }

  function take(response: BatchResponse): void {
    const id = numberOf(response);
    const entry = underWay.get(id);
    // The answer to an append that was given up.
    if (!entry) return;
    underWay.delete(id);
    try {
      entry.resolve(writtenIn(response, entry.request));
    } catch (error) {
      entry.reject(error);
    }
    flush();
    endIfLeft();
  }

  /** One timer, for the oldest: all wait equally long. */
  function watch(): void {
    const oldest = underWay.values().next().value;
    if (timer !== undefined || !oldest) return;
    const dueMs = oldest.atMs + (isSilent ? timeoutMs : patienceMs) - performance.now();
    timer = setTimeout(onDue, Math.max(Math.ceil(dueMs), 0));
  }

  function onDue(): void {
    timer = undefined;
    const nowMs = performance.now();
    for (const [id, entry] of underWay) {
      const waitedMs = nowMs - entry.atMs;
      if (waitedMs < patienceMs) break;
      if (!isSilent) {
        isSilent = true;
        leave();
        options.onSilence();
      }
      if (waitedMs < timeoutMs) break;
      underWay.delete(id);
      entry.reject(new SilenceError(`No answer came in ${timeoutMs} ms.`));
    }
    watch();
    endIfLeft();
  }

  function leave(): void {
    if (state === 'leaving' || state === 'ended') return;
    become('leaving');
    rejectWaiting(new NotSentError('The connection was given up.'));
    endIfLeft();
  }

  function endIfLeft(): void {
    if (state !== 'leaving' || underWay.size > 0) return;
    finish();
    call?.end();
  }

  function finish(error?: Error): void {
    become('ended');
    clearTimeout(timer);
    options.onEnded(error);
  }

  function abandon(error: Error): void {
    if (state !== 'ended') giveUp(error);
  }

  function broken(failure: Error): void {
    if (state === 'ended') return;
    const error = convertToCommandError(failure);
    giveUp(error, error);
  }

  function giveUp(error: Error, failure?: Error): void {
    finish(failure);
    call?.cancel();
    const given = [...underWay.values()];
    underWay.clear();
    // The only append that a node ever got is the one it has refused because it does not lead.
    const isRefused = sent === 1 && isNotLeader(error);
    for (const { reject } of given) {
      reject(isRefused ? new NotSentError(error.message, { cause: error }) : error);
    }
    rejectWaiting(new NotSentError(error.message, { cause: error }));
  }

  function rejectWaiting(error: NotSentError): void {
    for (const { reject } of waiting.splice(0)) reject(error);
  }

  async function open(): Promise<void> {
    const opened = await options.open();
    call = opened;
    opened.on('data', take);
    opened.on('error', broken);
    opened.on('end', () => broken(new Error('The server ended the stream of appends.')));
    opened.on('drain', () => {
      isFull = false;
      flush();
    });
    if (state === 'ended') return opened.cancel();
    if (state === 'opening') become('open');
    flush();
  }
  open().catch(broken);

  return {
    append: (request) =>
      new Promise((resolve, reject) => {
        if (state === 'leaving' || state === 'ended') {
          return reject(new NotSentError('The connection was given up.'));
        }
        waiting.push({ request, resolve, reject });
        flush();
      }),
    isOpen: () => state === 'opening' || state === 'open',
    leave,
    abandon,
  };
}

/** Throws `AnsweredError`, and an error of its own if the answer does not say where. */
function writtenIn(response: BatchResponse, { stream }: AppendRequest): Written {
  const error = response.getError();
  if (error) {
    const detail = error.getDetails()?.getTypeName();
    throw new AnsweredError(stream, error.getCode(), detail, error.getMessage());
  }
  const success = response.getSuccess();
  const place = success?.getPosition();
  if (!success || !place) throw new Error('The server gave no position.');
  const [commit, prepare] = [place.getCommitPosition(), place.getPreparePosition()];
  const position = positionOf({ commit: BigInt(commit), prepare: BigInt(prepare) });
  return { revision: Number(success.getCurrentRevision()), position };
}

/** Correlation ids are UUIDs that end with the number of the append. */
const COUNT_DIGITS = 12;
const digitsOf = (count: number) => count.toString(16).padStart(COUNT_DIGITS, '0');

/** Of the append that an answer is for, in either form of a UUID. */
function numberOf(response: BatchResponse): number {
  const id = response.getCorrelationId();
  const structured = id?.getStructured();
  if (!structured) return Number.parseInt(id?.getString().slice(-COUNT_DIGITS) ?? '', 16);
  return Number(BigInt.asUintN(4 * COUNT_DIGITS, BigInt(structured.getLeastSignificantBits())));
}
