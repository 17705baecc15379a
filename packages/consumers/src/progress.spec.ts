import type { LogPlace, RecordedEvent } from '@coffer/event-store';
import { expect } from 'chai';
import { createProgress } from './progress.ts';
import { placeOf } from './testing/testLog.ts';

describe('the progress of a consumer', () => {
  let nowMs = 0;
  const log = {
    comparePositions: (left: string, right: string) => Number(left) - Number(right),
    distance: (from: string | undefined, to: string) => Number(to) - Number(from ?? 0),
  };
  const liveAt = (position: number) => {
    nowMs = 1_000_000;
    const progress = createProgress('reader', log, { nowMs: () => nowMs });
    progress.reading(placeOf(position));
    progress.caughtUp();
    return progress;
  };
  const eventAt = ({ position }: LogPlace) => ({ position, recordedAt: new Date(0) }) as RecordedEvent;

  it('is live at the end of the log, however long nothing happens', () => {
    const progress = liveAt(3);
    for (let second = 0; second < 60; second += 1) {
      nowMs += 1_000;
      progress.sawHead(placeOf(3));
    }
    expect(progress.status(undefined)).to.include({ state: 'live', lagEvents: 0, lagSeconds: 0 });
  });

  it('is live behind the end as long as it moves, and not when it stands still', () => {
    const progress = liveAt(3);
    for (let second = 0; second < 60; second += 1) {
      nowMs += 1_000;
      progress.sawHead(placeOf(100));
      progress.took(eventAt(placeOf(4 + second)));
    }
    expect(progress.status(undefined)).to.include({ state: 'live', lagEvents: 37 });
    for (let second = 0; second < 11; second += 1) {
      nowMs += 1_000;
      progress.sawHead(placeOf(100));
    }
    expect(progress.status(undefined)).to.include({ state: 'catchingUp', lagEvents: 37, lagSeconds: 71 });
    progress.took(eventAt(placeOf(100)));
    expect(progress.status(undefined)).to.include({ state: 'live', lagEvents: 0 });
  });

  it('does not know its lag, and is not live, once the end of the log has not been seen for a while', () => {
    const progress = liveAt(3);
    progress.sawHead(placeOf(3));
    nowMs += 11_000;
    expect(progress.status(undefined)).to.include({
      state: 'catchingUp',
      lagEvents: undefined,
      lagSeconds: 11,
    });
  });

  it('is behind once its lag is longer than asked for, while it reads', () => {
    const progress = liveAt(3);
    progress.sawHead(placeOf(100));
    nowMs += 1_000;
    expect(progress.isBehindBy(1_000)).to.equal(false);
    nowMs += 1;
    expect(progress.isBehindBy(1_000)).to.equal(true);
    progress.interrupted();
    expect(progress.isBehindBy(1_000), 'on standby').to.equal(false);
    progress.reading(placeOf(3));
    expect(progress.isBehindBy(1_000), 'catching up').to.equal(true);
  });
});
