/**
 * A refusal may be known long before the client has said all that it has to say. Clients wait for flow control to
 * let them finish; some wait for ever when the answer ends the stream meanwhile (grpc-dotnet does, and drops its own
 * deadline with it). So an answer is held until the client is done, and what it still says is taken and forgotten.
 */
import type { ServerHttp2Stream } from 'node:http2';
import { constants } from 'node:http2';
import { Duplex } from 'node:stream';
import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';

export interface HoldLimits {
  /** After a refusal this many bytes are still read; then it is answered, and the stream reset. */
  readonly maxBytes: number;
  /** The time limit for that. */
  readonly maxMs: number;
  /** Some clients keep a call open after their messages: one that is silent for this long is waiting. */
  readonly quietMs: number;
}

const LIMITS: HoldLimits = { maxBytes: 32 * 1024 * 1024, maxMs: 30_000, quietMs: 500 };

export const holdAnswers =
  (limits = LIMITS): ServerInterceptor =>
  ({ requestStream, responseStream }, call) => {
    // Also what the library itself refuses goes through this method, and nothing else tells when it does.
    const send = call.sendStatus.bind(call);
    const stream = streamOf(call);
    let isHeld = false;
    call.sendStatus = (status) => {
      if (isHeld) return;
      isHeld = true;
      if (stream.readableEnded || stream.destroyed) {
        send(status);
        return;
      }
      const answer = (isDone: boolean): void => {
        release();
        send(status);
        if (!isDone) stream.close(constants.NGHTTP2_NO_ERROR);
      };
      const release = discard(
        stream,
        requestStream && responseStream ? limits : { ...limits, quietMs: Infinity },
        answer,
      );
    };
    return new ServerInterceptingCall(call);
  };

/** Reads and discards what arrives. `onEnd` learns whether the client is done. Returns the function that stops it. */
function discard(stream: Duplex, limits: HoldLimits, onEnd: (isDone: boolean) => void): () => void {
  let bytes = 0;
  const deadline = setTimeout(() => onEnd(false), limits.maxMs);
  let quiet: NodeJS.Timeout | undefined;
  const listen = (): void => {
    clearTimeout(quiet);
    if (limits.quietMs < Infinity) quiet = setTimeout(() => onEnd(true), limits.quietMs);
  };
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) onEnd(false);
    else listen();
  };
  const onDone = (): void => onEnd(true);
  const release = (): void => {
    clearTimeout(deadline);
    clearTimeout(quiet);
    stream.off('data', onData).off('end', onDone).off('close', release);
  };
  // Nobody is to make messages of it any more.
  stream.removeAllListeners('data');
  stream.on('data', onData).on('end', onDone).on('close', release);
  stream.resume();
  listen();
  return release;
}

/** The library has no other way to the stream of a call: its version is pinned, and a spec tells when it is gone. */
function streamOf(call: object): ServerHttp2Stream {
  const stream = 'stream' in call ? call.stream : undefined;
  if (!isHttp2Stream(stream)) throw new TypeError('The call of the gRPC library has no HTTP/2 stream.');
  return stream;
}

const isHttp2Stream = (value: unknown): value is ServerHttp2Stream =>
  value instanceof Duplex && 'rstCode' in value;
