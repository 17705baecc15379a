/** What the contexts' stream types say about a stored event, without the types themselves. */
import { type PackedState, packState, type RecordedEvent, unpackState } from '@coffer/event-store';
import {
  decodeMetadata,
  messageOf,
  parseStreamName,
  type StreamType,
  UnknownEventError,
} from '@coffer/kernel';
import type { FaultKind } from './faults.ts';

export interface Problem {
  readonly kind: Extract<FaultKind, 'unknown_event' | 'undecodable' | 'unfoldable'>;
  readonly reason: string;
}

/** The state of one stream, which takes its events one by one. */
export interface Folding {
  /** The problem with the event, if any. After a problem the state is useless. */
  readonly take: (event: RecordedEvent) => Problem | undefined;
  /** Whether a snapshot matches the current state. */
  readonly isSnapshot: (state: PackedState) => boolean;
  /** Approximate size of the current state in memory. */
  readonly bytes: () => number;
}

export interface StreamRules {
  readonly category: string;
  /** Version of the snapshots in use; undefined for streams that have none. */
  readonly snapshotVersion: number | undefined;
  /** What makes the event unreadable, if anything. */
  readonly read: (event: RecordedEvent) => Problem | undefined;
  readonly startFolding: () => Folding;
}

export function streamRules<Command, Event, State, Answer>(
  type: StreamType<Command, Event, State, Answer>,
): StreamRules {
  const { category, codec, initialState, evolve, sizeOf, snapshot } = type;
  return {
    category,
    snapshotVersion: snapshot && type.version,
    read(stored) {
      const unreadable = metadataProblem(stored);
      if (unreadable) return unreadable;
      const read = decoded(() => codec.decode(stored));
      return 'problem' in read ? read.problem : undefined;
    },
    startFolding() {
      let state = initialState;
      return {
        take(stored) {
          const read = decoded(() => codec.decode(stored));
          if ('problem' in read) return read.problem;
          try {
            state = evolve(state, read.event);
            return undefined;
          } catch (error) {
            // `evolve` asserts what must be true of every event that the rules have allowed.
            return { kind: 'unfoldable', reason: reasonOf(error) };
          }
        },
        isSnapshot: (kept) => snapshot !== undefined && isSameState(kept, packState(snapshot.encode(state))),
        bytes: () => sizeOf(state),
      };
    },
  };
}

/** The rules of a stream, by its name; undefined for one that this release does not know. */
export function rulesByStream(rules: readonly StreamRules[]): (stream: string) => StreamRules | undefined {
  const byCategory = new Map(rules.map((one) => [one.category, one]));
  return (stream) => {
    const category = parseStreamName(stream)?.category;
    return category === undefined ? undefined : byCategory.get(category);
  };
}

/** What makes an event's metadata unreadable, if anything. */
export function metadataProblem({ metadata }: RecordedEvent): Problem | undefined {
  const read = decoded(() => decodeMetadata(metadata));
  return 'problem' in read ? read.problem : undefined;
}

/**
 * The order of fields and of entries is not part of a state: it depends on whether it was folded or decoded.
 * An array in a snapshot is a map or a set.
 */
function isSameState(stored: PackedState, folded: PackedState): boolean {
  if (Buffer.compare(stored.bytes, folded.bytes) !== 0) return false;
  if (stored.facts === folded.facts) return true;
  try {
    return canonical(unpackState(stored).facts) === canonical(unpackState(folded).facts);
  } catch {
    // Not even JSON: no fold produced it.
    return false;
  }
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).sort().join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`);
  return `{${fields.sort().join()}}`;
}

/** Whatever a decoder throws describes what is wrong with the text it was given. */
function decoded<Event>(read: () => Event): { readonly event: Event } | { readonly problem: Problem } {
  try {
    return { event: read() };
  } catch (error) {
    const kind = error instanceof UnknownEventError ? 'unknown_event' : 'undecodable';
    return { problem: { kind, reason: reasonOf(error) } };
  }
}

const MAX_REASON_LENGTH = 300;

function reasonOf(error: unknown): string {
  return messageOf(error).replaceAll(/\s+/g, ' ').trim().slice(0, MAX_REASON_LENGTH);
}
