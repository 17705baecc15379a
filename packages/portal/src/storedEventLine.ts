/**
 * A stored event as one line of JSON, without loss: `data` and `metadata` are the stored objects in their stored
 * order. If serialising such an object again would not yield the exact stored text, the text is included as well.
 */
import type { RecordedEvent, StreamEvent } from '@coffer/event-store';
import { z } from 'zod';

/** For readers; input is checked more strictly. */
export const storedLine = z.strictObject({
  position: z.string(),
  stream: z.string(),
  revision: z.int(),
  id: z.string(),
  type: z.string(),
  data: z.unknown(),
  /** The exact stored text, if `JSON.stringify(data)` differs from it. */
  dataText: z.string().optional(),
  metadata: z.unknown(),
  /** The same of `metadata`. */
  metadataText: z.string().optional(),
  recordedAt: z.iso.datetime(),
});
type StoredEventLine = Readonly<z.output<typeof storedLine>>;

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

/** Null if the text cannot be written as JSON: a store may hold what others have put there. */
function parsed(text: string): { readonly value: unknown; readonly isExact: boolean } {
  try {
    const value: unknown = JSON.parse(text);
    // In an array, because a value that is nested too deeply for the line is a text as well.
    return { value, isExact: JSON.stringify([value]) === `[${text}]` };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return { value: null, isExact: false };
    throw error;
  }
}

/** What a line says of an event, except its position, which belongs to the original log. */
export interface ExportedEvent extends StreamEvent {
  readonly recordedAt: Date;
}

/** As parsed: rebuilding it could change the order of its keys. */
const storedObject = z.unknown().refine((value) => value !== undefined, 'is missing');

const exportedLine = storedLine.extend({
  stream: z.string().min(1),
  revision: z.int().nonnegative(),
  id: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a UUID in lower case'),
  type: z.string().min(1),
  data: storedObject,
  metadata: storedObject,
  recordedAt: z.iso.datetime().transform((text) => new Date(text)),
});

/** The exact reverse of `storedEventLine`. Undefined, with the reason reported, for any other text. */
export function exportedEvent(text: string, onInvalid: (reason: string) => void): ExportedEvent | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    onInvalid('it is not one JSON document');
    return undefined;
  }
  const line = exportedLine.safeParse(json);
  if (!line.success) {
    const [issue] = line.error.issues;
    onInvalid(`${issue?.path.join('.') || 'it'}: ${issue?.message}`);
    return undefined;
  }
  const { stream, revision, id, type, data, metadata, recordedAt } = line.data;
  const { dataText = JSON.stringify(data), metadataText = JSON.stringify(metadata) } = line.data;
  return { stream, revision, id, type, data: dataText, metadata: metadataText, recordedAt };
}
