import { expect } from 'chai';
import type { LogPlace, Position, RecordedEvent } from '../port.ts';
import { createRecentEvents } from './recentEvents.ts';

const event = (position: number, data = '{}', id = `id-${position}`): RecordedEvent => ({
  position: `${position}` as Position,
  stream: 'thing-1',
  revision: position,
  id,
  type: 'Happened',
  data,
  metadata: '',
  recordedAt: new Date(0),
});
const events = (first: number, last: number, data?: string) =>
  Array.from({ length: last - first + 1 }, (_, index) => event(first + index, data));
const place = (position: number, eventId = `id-${position}`): LogPlace => ({
  position: `${position}` as Position,
  eventId,
});

describe('the recent events of the log', () => {
  let nowMs: number;
  let recent: ReturnType<typeof createRecentEvents>;
  const positionsFrom = (from: LogPlace) => recent.from(from)?.map(({ position }) => Number(position));
  beforeEach(() => {
    nowMs = 10_000;
    recent = createRecentEvents(() => nowMs);
    recent.saw(undefined, events(1, 4));
  });

  it('are those of the pages read, one after the other', () => {
    recent.saw(place(4), events(4, 6));
    expect(positionsFrom(place(3))).to.deep.equal([3, 4, 5, 6]);
    expect(positionsFrom(place(6))).to.deep.equal([6]);
  });

  it('do not depend on the order in which pages arrive', () => {
    recent.saw(place(3), events(3, 6));
    recent.saw(place(4), events(4, 5));
    expect(positionsFrom(place(2))).to.deep.equal([2, 3, 4, 5, 6]);
  });

  it('are not known from a place that is not among them', () => {
    for (const unknown of [place(5), place(3, 'another'), place(0)]) {
      expect(recent.from(unknown)).to.equal(undefined);
    }
  });

  it('stay those at the end while a reader is far behind, and move on with one that is ahead', () => {
    recent.saw(place(100), events(100, 110));
    expect(positionsFrom(place(109))).to.deep.equal([109, 110]);
    recent.saw(place(50), events(50, 60));
    expect(positionsFrom(place(109))).to.deep.equal([109, 110]);
    expect(recent.from(place(50))).to.equal(undefined);
  });

  it('are forgotten when the log holds them no longer', () => {
    recent.saw(place(4), []);
    expect(recent.from(place(2))).to.equal(undefined);
    recent.saw(place(1), events(1, 4));
    recent.saw(place(4), [event(4, '{}', 'another'), event(5)]);
    expect(recent.from(place(2))).to.equal(undefined);
  });

  it('are not trusted when nobody has looked at their end for a while', () => {
    nowMs += 900;
    recent.saw(place(4), [event(4)]);
    nowMs += 900;
    expect(positionsFrom(place(3))).to.deep.equal([3, 4]);
    nowMs += 200;
    expect(recent.from(place(3))).to.equal(undefined);
    recent.saw(place(1), events(1, 2));
    expect(positionsFrom(place(1)), 'of a log that was restored').to.deep.equal([1, 2]);
  });

  it('are so many, and so large, at most', () => {
    recent.saw(place(4), events(4, 5_000));
    expect(recent.from(place(3_000))).to.equal(undefined);
    expect(recent.from(place(3_001))).to.have.length(2_000);
    recent.saw(place(5_000), [event(5_000), ...events(5_001, 5_005, 'x'.repeat(1024 * 1024))]);
    expect(positionsFrom(place(5_002))).to.deep.equal([5_002, 5_003, 5_004, 5_005]);
    expect(recent.from(place(5_001))).to.equal(undefined);
  });

  it('count what is read again once', () => {
    const large = event(5, 'x'.repeat(3 * 1024 * 1024));
    recent.saw(place(4), [event(4), large]);
    for (let read = 0; read < 3; read++) recent.saw(place(5), [large, event(6)]);
    expect(positionsFrom(place(4))).to.deep.equal([4, 5, 6]);
  });
});
