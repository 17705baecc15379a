/**
 * Converts between domain events (typed, bigint) and what is on disk (JSON text). Stored names and shapes are for ever:
 * add optional fields, upcast an old version beside its schema, or use a new name.
 */
import { z } from 'zod';
import { schemaCodec } from './schemaCodec.ts';

/** The parts of a stored event that a codec needs. `data` and `metadata` are JSON texts. */
export interface StoredEvent {
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

interface EncodedEvent {
  readonly type: string;
  readonly data: string;
  /** Becomes `v` in the metadata. */
  readonly schemaVersion: number;
}

/** The stored data of an event type in one version. */
interface DataSchema {
  readonly type: string;
  readonly version: number;
  readonly data: z.ZodType<unknown, unknown>;
}

export interface EventCodec<Event> {
  readonly types: readonly string[];
  /** Of every type in every version that can be on disk. */
  readonly dataSchemas: readonly DataSchema[];
  readonly encode: (event: Event) => EncodedEvent;
  /** Throws `UnknownEventError` on a type or version that this release does not know; it never guesses. */
  readonly decode: (stored: StoredEvent) => Event;
}

/** A stream holds an event that this release cannot read, so any decision on it would be a guess. */
export class UnknownEventError extends Error {
  override readonly name = 'UnknownEventError';
}

/** Facts about an event that are not part of it: kept as flat JSON beside it. */
export interface EventMetadata {
  /** The request that led to it, shared by everything that follows from that request. */
  readonly correlationId: string;
  /** Id of the event that led to it, when a reaction wrote it. */
  readonly causationId?: string;
  /** Who acted: `key:<id>`, `operator`. What follows from a cause keeps the cause's actor. */
  readonly actor: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly occurredAt: string;
}

const storedMetadata = z.object({
  v: z.int().positive(),
  correlationId: z.string(),
  causationId: z.string().optional(),
  actor: z.string(),
  occurredAt: z.string(),
});
export type StoredMetadata = Readonly<z.infer<typeof storedMetadata>>;

// A request may write thousands of events, which share one text.
let lastEncoded:
  | { readonly metadata: EventMetadata; readonly version: number; readonly text: string }
  | undefined;

export function encodeMetadata(metadata: EventMetadata, schemaVersion: number): string {
  if (lastEncoded?.metadata !== metadata || lastEncoded.version !== schemaVersion) {
    const text = JSON.stringify({ v: schemaVersion, ...metadata });
    lastEncoded = { metadata, version: schemaVersion, text };
  }
  return lastEncoded.text;
}

// All that follows from one cause has the same metadata, and one cause may have thousands of effects.
let lastDecoded: { readonly text: string; readonly metadata: StoredMetadata } | undefined;

export function decodeMetadata(text: string): StoredMetadata {
  if (lastDecoded?.text !== text) {
    lastDecoded = { text, metadata: Object.freeze(storedMetadata.parse(JSON.parse(text))) };
  }
  return lastDecoded.metadata;
}

const FIRST_VERSION = '{"v":1,';
const LEADING_VERSION = /^\{"v":([1-9][0-9]{0,8})[,}]/;

/** The version is written first, so that a fold need not parse the metadata of every event. */
function schemaVersionOf(metadata: string): number {
  if (metadata.startsWith(FIRST_VERSION)) return 1;
  const version = LEADING_VERSION.exec(metadata)?.[1];
  return version === undefined ? decodeMetadata(metadata).v : Number(version);
}

interface EventDefinition {
  /** The current version; 1 unless said otherwise. */
  readonly version?: number;
  readonly data: z.ZodType<unknown, unknown>;
  /** The data of each earlier version (the key): the schema that it had when it was the current one. */
  readonly formerData?: Readonly<Record<number, z.ZodType<unknown, unknown>>>;
  /** From the JSON of version n (the key) to the JSON of version n + 1. */
  readonly upcasts?: Readonly<Record<number, (data: unknown) => unknown>>;
}

type EventOf<Definitions extends Readonly<Record<string, EventDefinition>>> = {
  [Type in keyof Definitions & string]: {
    readonly type: Type;
    readonly data: Readonly<z.output<Definitions[Type]['data']>>;
  };
}[keyof Definitions & string];

/** The union of a codec's events: `type PlaySessionEvent = EventIn<typeof playSessionEvents>`. */
export type EventIn<Codec> = Codec extends EventCodec<infer Event> ? Event : never;

/** A codec for the events of one stream type, from one zod schema per event. */
export function eventCodec<const Definitions extends Readonly<Record<string, EventDefinition>>>(
  definitions: Definitions,
): EventCodec<EventOf<Definitions>> {
  const byType = new Map(
    Object.entries<EventDefinition>(definitions).map(([type, definition]) => [
      type,
      { ...definition, ...schemaCodec(definition.data) },
    ]),
  );
  const definitionOf = (type: string) => {
    const definition = byType.get(type);
    if (!definition) throw new UnknownEventError(`This release does not know the event type ${type}.`);
    return definition;
  };

  // Those who are shown an event one after the other, such as the reactions of a process, share what it says.
  let lastStored: { readonly stored: object; readonly event: EventOf<Definitions> } | undefined;

  return {
    types: [...byType.keys()],
    dataSchemas: [...byType].flatMap(([type, { version = 1, data, formerData = {} }]) => [
      ...Object.entries(formerData).map(([former, schema]) => ({
        type,
        version: Number(former),
        data: schema,
      })),
      { type, version, data },
    ]),
    encode: (event) => {
      const definition = definitionOf(event.type);
      return {
        type: event.type,
        data: JSON.stringify(definition.encode(event.data)),
        schemaVersion: definition.version ?? 1,
      };
    },
    decode: (stored) => {
      if (stored === lastStored?.stored) return lastStored.event;
      const definition = definitionOf(stored.type);
      const current = definition.version ?? 1;
      const version = schemaVersionOf(stored.metadata);
      if (version > current) {
        throw new UnknownEventError(
          `This release reads ${stored.type} up to version ${current}, not ${version}.`,
        );
      }
      let data: unknown = JSON.parse(stored.data);
      for (let from = version; from < current; from++) data = definition.upcasts?.[from]?.(data);
      // The definition was found by type, so its schema is the one for this member of the union.
      const event = { type: stored.type, data: definition.decode(data) } as EventOf<Definitions>;
      lastStored = { stored, event };
      return event;
    },
  };
}
