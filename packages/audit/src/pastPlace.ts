/** A moment of the past, as named by an operator, and the place in the log that it means. */
import type { EventStore } from '@coffer/event-store';
import { type Clock, Rejection } from '@coffer/kernel';
import type { PastPlaceOf } from '@coffer/portal';
import type { PointInTime, PointsInTime } from './pointInTime.ts';

export function createPastPlaceOf({
  store,
  pointsInTime,
  clock,
}: {
  readonly store: Pick<EventStore, 'parsePosition' | 'placeAt'>;
  readonly pointsInTime: PointsInTime;
  readonly clock: Clock;
}): PastPlaceOf {
  return async (at) => {
    const { ordinal, position } = await pointOf(at);
    if (position === undefined) throw refusal('lies before the first event of the log');
    return { ordinal, position };
  };

  async function pointOf(at: Parameters<PastPlaceOf>[0]): Promise<PointInTime> {
    switch (at.kind) {
      case 'time': {
        const now = clock();
        if (at.time > now) throw refusal(`lies in the future: it is ${now.toISOString()}`);
        return pointsInTime.pointAt(at.time);
      }
      case 'ordinal': {
        const point = await pointsInTime.pointOf(at.ordinal);
        if (point.ordinal < at.ordinal) {
          throw refusal(`lies beyond the end of the log, which has ${point.ordinal} events`);
        }
        return point;
      }
      case 'position': {
        const position = store.parsePosition(at.position);
        if (position === undefined) {
          throw refusal('must be an ordinal, an ISO 8601 time, or a position as this log writes them');
        }
        if (!(await store.placeAt(position))) throw refusal('must be the position of an event of this log');
        return { ordinal: await pointsInTime.ordinalOf(position), position };
      }
    }
  }
}

const refusal = (message: string) => new Rejection('request/invalid', { issues: [{ path: 'at', message }] });
