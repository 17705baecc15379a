/** A raw keep-alive connection of the load generator, with one request in flight at a time. */
import { connect, type Socket } from 'node:net';
import { type AnswerReader, createAnswerReader, isExpected } from './answerReader.ts';
import type { PreparedRequest } from './preparedRequest.ts';

const RECEIVE_BUFFER_BYTES = 64 * 1024;
const CONNECT_LIMIT_MS = 5_000;

export interface ConnectionEvents {
  /** An answer with the expected status has come, this many milliseconds after its request was sent, or due. */
  readonly onAnswer: (connection: Connection, latencyMs: number) => void;
  readonly onFailure: (error: Error) => void;
  /** Throws on a wrong body. Bodies are kept only if this is given. */
  readonly checkBody?: ((body: string) => void) | undefined;
}

export interface Connection {
  /** Sends the next request. Its latency is counted from this moment, by default now. */
  send(fromMs?: number): void;
  close(): void;
}

/** Resolves when the connection is open. */
export function openConnection(
  port: number,
  request: PreparedRequest,
  { onAnswer, onFailure, checkBody }: ConnectionEvents,
): Promise<Connection> {
  const reader: AnswerReader = createAnswerReader(checkBody !== undefined);
  let countedFromMs = 0;
  let closing = false;

  const receive = (chunk: Buffer): void => {
    if (!reader.read(chunk)) return;
    const latencyMs = performance.now() - countedFromMs;
    if (!isExpected(reader.status)) {
      throw new Error(`An answer has status ${reader.status}: ${reader.body.slice(0, 1_000)}`);
    }
    checkBody?.(reader.body);
    onAnswer(connection, latencyMs);
  };

  // Reading into one buffer saves a buffer, an event and a turn of the stream for each answer.
  const socket: Socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(RECEIVE_BUFFER_BYTES),
      callback: (length, buffer) => {
        try {
          receive(Buffer.from(buffer.buffer, buffer.byteOffset, length));
        } catch (error) {
          onFailure(error instanceof Error ? error : new Error(String(error)));
        }
        return true;
      },
    },
  });
  const connection: Connection = {
    send(fromMs = performance.now()) {
      request.renew();
      countedFromMs = fromMs;
      socket.write(request.bytes);
    },
    close() {
      closing = true;
      socket.destroy();
    },
  };

  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  const timer = setTimeout(
    () => reject(new Error(`No connection within ${CONNECT_LIMIT_MS} ms.`)),
    CONNECT_LIMIT_MS,
  );
  socket.once('connect', () => {
    clearTimeout(timer);
    resolve(connection);
  });
  socket.on('error', (error) => {
    clearTimeout(timer);
    reject(error);
    onFailure(error);
  });
  socket.on('close', () => {
    if (!closing) onFailure(new Error('The server closed a connection.'));
  });
  return promise;
}
