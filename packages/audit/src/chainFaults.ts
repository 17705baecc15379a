/** Faults of a chained event and of the chain itself. */
import type { RecordedEvent } from '@coffer/event-store';
import { isEntryHash, type Ordinal } from './chain.ts';
import type { Expected } from './expectedEntries.ts';
import type { Fault, FaultKind } from './faults.ts';

export const isHashOf = ({ previous, ordinal, hash }: Expected, event: RecordedEvent): boolean =>
  previous.some((before) => isEntryHash(hash, before, ordinal, event));

/** `event` is the one found elsewhere, if any: its content may differ, too. */
export function ofEntry(kind: FaultKind, entry: Expected, reason: string, event?: RecordedEvent): Fault {
  const { ordinal, stream, revision, id } = entry;
  const alteration = event && !isHashOf(entry, event) ? ', and was altered' : '';
  return { kind, ordinal, stream, revision, id, reason: `${reason}${alteration}` };
}

export const ofChain = (ordinal: Ordinal, reason: string): Fault => ({
  kind: 'chain_broken',
  ordinal,
  stream: null,
  revision: null,
  id: null,
  reason,
});
