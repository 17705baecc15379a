/**
 * A stored event as one line of JSON, without loss: `data` and `metadata` are the stored objects in their
 * stored order. Where writing such an object out again would not give the very text that is stored, the
 * text itself stands beside it.
 */
import type { RecordedEvent } from '@coffer/event-store';

export interface StoredEventLine {
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
  /** The exact stored text, where `JSON.stringify(data)` differs from it. */
  readonly dataText?: string;
  readonly metadata: unknown;
  /** The exact stored text, where `JSON.stringify(metadata)` differs from it. */
  readonly metadataText?: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly recordedAt: string;
}

export function storedEventLine(event: RecordedEvent): StoredEventLine {
  const data = parsed(event.data);
  const metadata = parsed(event.metadata);
  return {
    position: event.position,
    stream: event.stream,
    revision: event.revision,
    id: event.id,
    type: event.type,
    data: data.value,
    ...(data.isExact ? {} : { dataText: event.data }),
    metadata: metadata.value,
    ...(metadata.isExact ? {} : { metadataText: event.metadata }),
    recordedAt: event.recordedAt.toISOString(),
  };
}

/** Null where the text is no JSON: a store may hold what others have put there. */
function parsed(text: string): { readonly value: unknown; readonly isExact: boolean } {
  try {
    const value: unknown = JSON.parse(text);
    return { value, isExact: JSON.stringify(value) === text };
  } catch (error) {
    if (error instanceof SyntaxError) return { value: null, isExact: false };
    throw error;
  }
}
