/** What must hold of any log: no gap, no inversion, and each acknowledged event once. */
import type { RecordedEvent } from '../port.ts';
import type { Acknowledged } from './writers.ts';

/** Every way in which what a subscriber saw violates that; empty when there is none. */
export function faultsOf(seen: readonly RecordedEvent[], acknowledged: readonly Acknowledged[]): string[] {
  const faults: string[] = [];
  const revisions = new Map<string, number>();
  const byId = new Map<string, RecordedEvent>();
  seen.forEach((event, index) => {
    const { id, position, revision, stream } = event;
    if (position !== String(index + 1)) faults.push(`Position ${position} is at place ${index + 1}.`);
    const expected = (revisions.get(stream) ?? -1) + 1;
    if (revision !== expected) faults.push(`${stream} has ${revision} where ${expected} should be.`);
    revisions.set(stream, revision);
    if (byId.has(id)) faults.push(`Event ${id} came twice.`);
    byId.set(id, event);
  });
  for (const { request, result } of acknowledged) {
    request.events.forEach(({ id }, index) => {
      const event = byId.get(id);
      const behind = request.events.length - 1 - index;
      const isThere =
        event?.stream === request.stream &&
        event.revision === result.revision - behind &&
        event.position === String(BigInt(result.position) - BigInt(behind));
      if (!isThere) faults.push(`Event ${id} was acknowledged but is not where the acknowledgement said.`);
    });
  }
  return faults;
}
