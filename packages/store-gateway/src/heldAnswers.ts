/**
 * A refusal may be known long before the client has sent everything. Clients wait for flow control to let them finish;
 * some wait for ever if the answer ends the stream meanwhile (grpc-dotnet does, and drops its own deadline too). So an
 * answer is held until the client is done, and whatever it still sends is read and discarded.
 */
import type { ServerHttp2Stream } from 'node:http2';
import { constants } from 'node:http2';
import { Duplex } from 'node:stream';
import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';

export interface HoldLimits {
  /** After a refusal this many more bytes are read; then it is answered, and the stream reset. */
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
    // The library's own refusals also go through this method, and nothing else tells when they do.
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
  // From here on nobody should make messages of the bytes.
  stream.removeAllListeners('data');
  stream.on('data', onData).on('end', onDone).on('close', release);
  stream.resume();
  listen();
  return release;
}

/** The library has no other way to a call's stream: its version is pinned, and a spec fails if this is gone. */
function streamOf(call: object): ServerHttp2Stream {
  const stream = 'stream' in call ? call.stream : undefined;
  if (!isHttp2Stream(stream)) throw new TypeError('The call of the gRPC library has no HTTP/2 stream.');
  return stream;
}

const isHttp2Stream = (value: unknown): value is ServerHttp2Stream =>
  value instanceof Duplex && 'rstCode' in value;
