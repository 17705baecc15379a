/** Snapshots, compared with what their streams fold to. */
import type { KeptSnapshot, KeptSnapshots, RecordedEvent } from '@coffer/event-store';
import type { Ordinal } from './chain.ts';
import type { FaultList } from './faults.ts';
import type { Numbered } from './logCheck.ts';
import type { Folding, StreamRules } from './streamRules.ts';
import { together } from './together.ts';

export interface SnapshotCheck {
  readonly bytes: number;
  /** Called with each folded event, and without one if the stream ends before the snapshot. */
  readonly compare: (folded: RecordedEvent | undefined, folding: Folding) => void;
}

/** A long session has some tens of KiB. */
const READ_AT_A_TIME = 16;

/** Reads the snapshots of the streams that begin in the page, if they are of the version in use. */
export function createSnapshotChecks({
  snapshots,
  rulesOf,
  faults,
}: {
  readonly snapshots: KeptSnapshots | undefined;
  readonly rulesOf: (stream: string) => StreamRules | undefined;
  readonly faults: FaultList;
}): (page: readonly Numbered[]) => Promise<ReadonlyMap<string, SnapshotCheck>> {
  return async (page) => {
    const checks = new Map<string, SnapshotCheck>();
    const ordinals = new Map<string, Ordinal>();
    for (const { event, ordinal } of page) {
      if (event.revision === 0 && !ordinals.has(event.stream)) ordinals.set(event.stream, ordinal);
    }
    if (!snapshots || ordinals.size === 0) return checks;
    const places = await snapshots.placesAmong([...ordinals.keys()]);
    const inUse = places.filter(
      ({ stream, deciderVersion }) => rulesOf(stream)?.snapshotVersion === deciderVersion,
    );
    // Read before its stream, which then includes the event that a snapshot was taken at.
    await together(groupsOf(inUse, READ_AT_A_TIME), async (some) => {
      for (const [index, snapshot] of (await snapshots.read(some)).entries()) {
        const stream = some[index]?.stream ?? '';
        const check = snapshot && checkOf(snapshot, stream, ordinals.get(stream) ?? 0);
        if (check) checks.set(stream, check);
      }
    });
    return checks;
  };

  /** A fault has the ordinal of the stream's first event. */
  function checkOf(snapshot: KeptSnapshot, stream: string, ordinal: Ordinal): SnapshotCheck | undefined {
    const { revision, eventId: id, state } = snapshot;
    const add = (reason: string) =>
      faults.add({ kind: 'false_snapshot', ordinal, stream, revision, id, reason });
    let isMet = false;
    if (!snapshot.isAuthentic) {
      add('the service did not write it, or under another COFFER_SECRETS_KEY; it is not used');
      return undefined;
    }
    return {
      bytes: 2 * state.facts.length + state.bytes.length,
      compare(event, folding) {
        if (!event) {
          if (!isMet) add('its stream has no such event');
        } else if (event.revision === revision) {
          isMet = true;
          if (event.id !== id) add('its stream has another event there');
          else if (!folding.isSnapshot(state)) add('it is not what its stream folds to');
        }
      },
    };
  }
}

const groupsOf = <Item>(items: readonly Item[], size: number): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, group) =>
    items.slice(group * size, (group + 1) * size),
  );
