/** Converts positions and events between EventStoreDB's client and the port. */
import type { RecordedEvent as ClientEvent } from '@eventstore/db-client';
import { InvalidAppendError } from '../errors.ts';
import type { EventToAppend, Position, RecordedEvent } from '../port.ts';
import { jsonText } from './jsonText.ts';

/** A place in EventStoreDB's log is a pair of numbers; both are kept, because only the pair is accepted again. */
export interface WirePosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** Positions of this store are written `commit/prepare`. */
export const positionOf = ({ commit, prepare }: WirePosition) => `${commit}/${prepare}` as Position;

/** Undefined for a text that is not a position of this store. */
export function parsePosition(text: string): Position | undefined {
  const position = wirePositionIn(text);
  return position && positionOf(position);
}

export function wirePosition(position: Position): WirePosition {
  const found = wirePositionIn(position);
  if (!found) throw new Error(`${position} is not a position of an EventStoreDB log.`);
  return found;
}

/** The server stores byte offsets as signed 64-bit numbers. */
const MAX_PLACE = 2n ** 63n - 1n;

function wirePositionIn(text: string): WirePosition | undefined {
  const [, commit, prepare] = /^(\d{1,19})\/(\d{1,19})$/.exec(text) ?? [];
  if (commit === undefined || prepare === undefined) return undefined;
  const position = { commit: BigInt(commit), prepare: BigInt(prepare) };
  return position.commit <= MAX_PLACE && position.prepare <= MAX_PLACE ? position : undefined;
}

/** By commit, then by prepare. */
export function comparePositions(left: Position, right: Position): number {
  if (left === right) return 0;
  const [one, other] = [wirePosition(left), wirePosition(right)];
  return compare(one.commit, other.commit) || compare(one.prepare, other.prepare);
}

const compare = (left: bigint, right: bigint) => (left < right ? -1 : left > right ? 1 : 0);

/**
 * The client parses the JSON that it reads, and texts are made of it again with `JSON.stringify`. So a text survives
 * only if it is what `JSON.stringify` writes; any other is refused rather than changed. Throws `InvalidAppendError`.
 */
export function checkTexts({ data, metadata }: EventToAppend): void {
  checkText(data, 'data');
  checkText(metadata, 'metadata');
}

function checkText(text: string, what: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidAppendError(`The ${what} of an event must be JSON.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidAppendError(`The ${what} of an event must be a JSON object.`);
  }
  if (written(value, what) !== text) {
    throw new InvalidAppendError(
      `The ${what} of an event must be written as JSON.stringify does; this store cannot keep any other form.`,
    );
  }
}

/** Others who read the log may have nothing but `JSON.stringify`. */
function written(value: object, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new InvalidAppendError(`The ${what} of an event is nested too deeply.`, { cause });
  }
}

/** Undefined for the server's own events, whose types begin with `$`. */
export function recordedEvent(event: ClientEvent | undefined): RecordedEvent | undefined {
  if (!event || event.streamId.startsWith('$')) return undefined;
  if (!event.position) throw new Error(`Event ${event.id} of ${event.streamId} came without its position.`);
  return {
    id: event.id.toLowerCase(),
    type: event.type,
    data: textOf(event.data),
    metadata: textOf(event.metadata ?? {}),
    stream: event.streamId,
    revision: Number(event.revision),
    position: positionOf(event.position),
    recordedAt: event.created,
  };
}

/** Bytes and texts are what others wrote that is not JSON: they are returned unchanged. */
function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  return typeof value === 'string' ? value : jsonText(value);
}
