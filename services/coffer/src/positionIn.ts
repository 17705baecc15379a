/** A position as an operator has typed it. */
import type { EventStore, Position } from '@coffer/event-store';
import { Rejection } from '@coffer/kernel';
import type { PastMoment } from '@coffer/portal';

/** Throws `request/invalid` on what is no position. */
export function positionIn(
  at: Extract<PastMoment, { readonly kind: 'position' }>,
  store: Pick<EventStore, 'comparePositions'>,
): Position {
  // Only the store knows what a position looks like; the comparison with itself tries it.
  const position = at.position as Position;
  try {
    store.comparePositions(position, position);
  } catch {
    const issues = [{ path: 'at', message: 'is neither an ISO 8601 time nor a position of this log' }];
    throw new Rejection('request/invalid', { issues });
  }
  return position;
}
