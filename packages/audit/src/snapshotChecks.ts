/** Snapshots, compared with what their streams fold to. */
import type { KeptSnapshots, RecordedEvent } from '@coffer/event-store';
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
    const firsts = page.filter(({ event }) => event.revision === 0);
    if (!snapshots || firsts.length === 0) return checks;
    const places = await snapshots.placesAmong(firsts.map(({ event }) => event.stream));
    const inUse = new Set(
      places
        .filter(({ stream, deciderVersion }) => rulesOf(stream)?.snapshotVersion === deciderVersion)
        .map(({ stream }) => stream),
    );
    await together(
      firsts.filter(({ event }) => inUse.has(event.stream)),
      async ({ event: { stream }, ordinal }) => {
        const check = await checkOf(snapshots, stream, ordinal);
        if (check) checks.set(stream, check);
      },
    );
    return checks;
  };

  /**
   * The snapshot is read before its stream, which then includes the event it was taken at. A fault has the ordinal of
   * the stream's first event.
   */
  async function checkOf(
    { read }: KeptSnapshots,
    stream: string,
    ordinal: Ordinal,
  ): Promise<SnapshotCheck | undefined> {
    const deciderVersion = rulesOf(stream)?.snapshotVersion;
    const snapshot = deciderVersion === undefined ? undefined : await read({ stream, deciderVersion });
    if (!snapshot) return undefined;
    const { revision, eventId: id, text } = snapshot;
    const add = (reason: string) =>
      faults.add({ kind: 'false_snapshot', ordinal, stream, revision, id, reason });
    let isMet = false;
    if (!snapshot.isAuthentic) {
      add('the service did not write it, or under another COFFER_SECRETS_KEY; it is not used');
      return undefined;
    }
    return {
      bytes: 2 * text.length,
      compare(event, folding) {
        if (!event) {
          if (!isMet) add('its stream has no such event');
        } else if (event.revision === revision) {
          isMet = true;
          if (event.id !== id) add('its stream has another event there');
          else if (!folding.isSnapshot(text)) add('it is not what its stream folds to');
        }
      },
    };
  }
}
