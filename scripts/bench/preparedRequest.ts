/**
 * Requests as bytes, ready to be sent. In a bet, only the session and the uuids, which have a fixed length,
 * are overwritten before it is sent; other requests are complete in advance.
 */
import { randomBytes } from 'node:crypto';

export interface Target {
  readonly port: number;
  /** From the root, including the version segment. */
  readonly path: string;
  /** A key of the service: secret or publishable, as the route requires. */
  readonly key: string;
}

export interface PreparedRequest {
  readonly bytes: Buffer;
  /** Turns it into another request: the next session and unused uuids, or the next of the complete ones. */
  renew(): void;
}

/** The uuids of one load generator: a random start and a counter at the end. */
export interface UuidSource {
  readonly prefix: string;
  /** Writes the digits that distinguish the next uuid. */
  writeNext(bytes: Buffer, offset: number): void;
}

/** Hands out the sessions in turn, to all connections of a turn together. */
export type SessionCycle = () => string;

const COUNTED_DIGITS = 12;
const ZERO = 0x30;
const UUID_FIELD = '"transactionUuid":"';

export function createUuidSource(): UuidSource {
  const random = randomBytes(12).toString('hex');
  const prefix = `${random.slice(0, 8)}-${random.slice(8, 12)}-4${random.slice(13, 16)}-8${random.slice(17, 20)}-`;
  let count = 0;
  return {
    prefix,
    writeNext(bytes, offset) {
      count += 1;
      let rest = count;
      for (let index = offset + COUNTED_DIGITS - 1; index >= offset; index--) {
        bytes[index] = ZERO + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    },
  };
}

export function cycleThrough(sessionIds: readonly string[]): SessionCycle {
  const [first] = sessionIds;
  if (!first || sessionIds.some((id) => id.length !== first.length)) {
    throw new Error('At least one session is needed, and all ids must have the same length.');
  }
  return cycle(sessionIds);
}

/** One after another, for ever. Throws if there are none. */
export function cycle<Item>(items: readonly Item[]): () => Item {
  if (items.length === 0) throw new Error('There is nothing to hand out in turn.');
  let next = 0;
  return () => {
    const item = items[next] as Item; // Within the list, which is not empty.
    next = (next + 1) % items.length;
    return item;
  };
}

/** The body of a bet, which the yardsticks get as well. */
export function prepareBet(target: Target, uuids: UuidSource, nextSession: SessionCycle): PreparedRequest {
  const body = `{"sessionId":"${nextSession()}",${UUID_FIELD}${emptyUuid(uuids)}","amount":"1"}`;
  return prepared(target, body, uuids, nextSession);
}

/** `bets` bets on one session; on the next session at the next renewal. */
export function prepareBatch(
  target: Target,
  uuids: UuidSource,
  nextSession: SessionCycle,
  bets: number,
): PreparedRequest {
  const operation = `{"op":"bet",${UUID_FIELD}${emptyUuid(uuids)}","amount":"1"}`;
  const operations = Array.from({ length: bets }, () => operation).join(',');
  return prepared(
    target,
    `{"sessionId":"${nextSession()}","operations":[${operations}]}`,
    uuids,
    nextSession,
  );
}

/** Complete requests in turn; none before the first renewal. */
export function prepareInTurn(nextRequest: () => Buffer): PreparedRequest {
  let bytes: Buffer = Buffer.alloc(0);
  return {
    get bytes() {
      return bytes;
    },
    renew() {
      bytes = nextRequest();
    },
  };
}

export function requestBytes({ port, path, key }: Target, body: string): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ].join('\r\n');
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

const emptyUuid = ({ prefix }: UuidSource) => prefix + '0'.repeat(COUNTED_DIGITS);

function prepared(
  target: Target,
  body: string,
  uuids: UuidSource,
  nextSession: SessionCycle,
): PreparedRequest {
  const bytes = requestBytes(target, body);
  const sessionOffset = bytes.indexOf('"sessionId":"') + '"sessionId":"'.length;
  const countedOffsets = offsetsOf(bytes, UUID_FIELD).map(
    (offset) => offset + UUID_FIELD.length + uuids.prefix.length,
  );
  return {
    bytes,
    renew() {
      bytes.write(nextSession(), sessionOffset, 'latin1');
      for (const offset of countedOffsets) uuids.writeNext(bytes, offset);
    },
  };
}

function offsetsOf(bytes: Buffer, text: string): readonly number[] {
  const offsets: number[] = [];
  for (let offset = bytes.indexOf(text); offset >= 0; offset = bytes.indexOf(text, offset + 1))
    offsets.push(offset);
  return offsets;
}
