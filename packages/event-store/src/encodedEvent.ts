/** An event that still has the bytes from which its store has read it: whoever hashes it need not encode it again. */
import type { Position, RecordedEvent, StreamEvent } from './port.ts';

/** Those of all events of a page, in memory that is used for a later page: released, its events are without bytes. */
export interface PageBytes {
  held: Buffer | undefined;
}

/**
 * The bytes are the id (16 bytes), then stream, type, data and metadata, each as its length in bytes (4, big-endian)
 * followed by its UTF-8 bytes. A copy with another field (`{ ...event, id }`) is an event without bytes.
 */
export class EncodedEvent implements RecordedEvent {
  readonly position: Position;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  readonly recordedAt: Date;
  readonly #page: PageBytes;
  readonly #from: number;
  readonly #to: number;

  constructor(event: RecordedEvent, page: PageBytes, from: number, to: number) {
    this.position = event.position;
    this.stream = event.stream;
    this.revision = event.revision;
    this.id = event.id;
    this.type = event.type;
    this.data = event.data;
    this.metadata = event.metadata;
    this.recordedAt = event.recordedAt;
    this.#page = page;
    this.#from = from;
    this.#to = to;
  }

  /** How many bytes there are; 0 for an event without. */
  static bytesOf(event: StreamEvent): number {
    return #page in event && event.#page.held ? event.#to - event.#from : 0;
  }

  static copyBytes(event: StreamEvent, target: Uint8Array, offset: number): void {
    if (#page in event) event.#page.held?.copy(target, offset, event.#from, event.#to);
  }
}
