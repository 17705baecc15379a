import { expect } from 'chai';
import type { LogPlace, Position, RecordedEvent } from '../port.ts';
import { type EventPage, type PageNeed, type SharedPageFrom, sharePages } from './sharedPages.ts';

const place = (position: string): LogPlace => ({ position: position as Position, eventId: `id-${position}` });

const follower =
  (shared: SharedPageFrom) => (from: LogPlace | undefined, pageSize: number, wakeupsSeen: number) =>
    shared({ from, pageSize, wakeupsSeen, takesRecent: true, isBehind: false });

describe('pages of the log', () => {
  let asked: {
    from: LogPlace | undefined;
    need: PageNeed;
    answer: (events: readonly RecordedEvent[], isFull?: boolean) => void;
  }[];
  let shared: SharedPageFrom;
  let pageFrom: ReturnType<typeof follower>;
  beforeEach(() => {
    asked = [];
    shared = sharePages((from, _pageSize, need) => {
      const { promise, resolve } = Promise.withResolvers<EventPage>();
      asked.push({ from, need, answer: (events, isFull = false) => resolve({ events, isFull }) });
      return promise;
    });
    pageFrom = follower(shared);
  });

  it('are read once for all readers at the same event with the same wake-ups seen', async () => {
    const pages = [pageFrom(place('7'), 100, 3), pageFrom(place('7'), 100, 3)];
    expect(asked).to.have.length(1);
    asked[0]?.answer([], true);
    const page = { events: [], isFull: true };
    expect(await Promise.all(pages)).to.deep.equal([page, page]);
  });

  it('are read separately for a reader elsewhere, with another size, or woken since', () => {
    for (const [from, size, wakeups] of [
      [place('7'), 100, 3],
      [place('8'), 100, 3],
      [{ ...place('7'), eventId: 'another' }, 100, 3],
      [undefined, 100, 3],
      [place('7'), 200, 3],
      [place('7'), 100, 4],
    ] as const) {
      void pageFrom(from, size, wakeups);
    }
    expect(asked).to.have.length(6);
  });

  it('are read again once they have arrived: nobody gets an earlier read', async () => {
    const first = pageFrom(place('7'), 100, 3);
    asked[0]?.answer([]);
    await first;
    void pageFrom(place('7'), 100, 3);
    expect(asked).to.have.length(2);
  });

  describe('that were read before', () => {
    const event = (position: number): RecordedEvent => ({
      ...place(`${position}`),
      id: `id-${position}`,
      stream: 'thing-1',
      revision: position,
      type: 'Happened',
      data: '{}',
      metadata: '{}',
      recordedAt: new Date(0),
    });
    const events = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, index) => event(first + index));
    const positions = async (page: Promise<EventPage>) =>
      (await page).events.map(({ position }) => Number(position));
    beforeEach(async () => {
      const page = pageFrom(undefined, 100, 1);
      asked[0]?.answer(events(1, 9));
      await page;
    });

    it('are given to a reader that is behind, without a read', async () => {
      expect(await positions(pageFrom(place('3'), 4, 1))).to.deep.equal([3, 4, 5, 6, 7]);
      expect(asked).to.have.length(1);
    });

    for (const isBehind of [false, true]) {
      it(`are read again for a reader that must see what is stored, ${isBehind ? '' : 'not '}behind`, async () => {
        const page = shared({ from: place('3'), pageSize: 4, wakeupsSeen: 1, takesRecent: false, isBehind });
        asked[1]?.answer(events(3, 4));
        expect(asked[1]?.from).to.deep.equal(place('3'));
        expect(asked[1]?.need.keepsBytes).to.equal(isBehind);
        expect(await positions(page)).to.deep.equal([3, 4]);
      });
    }

    it('are read on from their end for a reader that gets beyond it, once for all', async () => {
      const pages = [positions(pageFrom(place('6'), 4, 2)), positions(pageFrom(place('8'), 4, 2))];
      expect(asked.slice(1).map(({ from }) => from)).to.deep.equal([place('9')]);
      asked[1]?.answer(events(9, 11));
      expect(await Promise.all(pages)).to.deep.equal([
        [6, 7, 8, 9, 10],
        [8, 9, 10, 11],
      ]);
    });

    it('are a full page when they are as many as were asked for', async () => {
      expect(await pageFrom(place('3'), 4, 1)).to.include({ isFull: true });
    });

    for (const [what, last, isCut, isFull] of [
      ['are as many as were asked for', 13, false, true],
      ['end with a page that is full of bytes', 10, true, true],
      ['are neither', 10, false, false],
    ] as const) {
      it(`and what was read after them are ${isFull ? '' : 'not '}a full page when they ${what}`, async () => {
        const page = pageFrom(place('8'), 4, 2);
        asked[1]?.answer(events(9, last), isCut);
        expect(await page).to.include({ isFull });
      });
    }

    it('are read for a reader that is behind, and do not keep their bytes, when it may be given them again', () => {
      void shared({ from: place('20'), pageSize: 4, wakeupsSeen: 1, takesRecent: true, isBehind: true });
      expect(asked[1]?.need.keepsBytes).to.equal(false);
    });

    for (const takesRecent of [false, true]) {
      it(`are followed by about as many, or by a full page for a reader that is behind and takes ${takesRecent ? 'recent' : 'stored'} ones`, async () => {
        const next = (from: LogPlace, isBehind: boolean) =>
          shared({ from, pageSize: 100, wakeupsSeen: 1, takesRecent, isBehind });
        const behind = next(place('20'), true);
        asked[1]?.answer(events(20, 119));
        await behind;
        void next(place('9'), false);
        expect(asked.map(({ need }) => need.expected)).to.deep.equal([0, 100, 9]);
      });
    }

    for (const [what, last, expected] of [
      ['not by many if they fill a page with their bytes', 60, 0],
      ['by a full page if they are one', 109, 100],
    ] as const) {
      it(`are expected to be followed ${what}`, async () => {
        const full = pageFrom(place('9'), 100, 2);
        asked[1]?.answer(events(9, last), true);
        await full;
        void pageFrom(place('200'), 100, 3);
        expect(asked.map(({ need }) => need.expected)).to.deep.equal([0, 9, expected]);
      });
    }

    it('are expected to be followed by no more than were asked for', () => {
      void pageFrom(place('20'), 4, 2);
      expect(asked[1]?.need.expected).to.equal(4);
    });

    it('are not given when the log holds them no longer: the reader is told what the log holds at its place', async () => {
      const page = positions(pageFrom(place('6'), 4, 2));
      asked[1]?.answer([]);
      await new Promise(setImmediate);
      expect(asked[2]?.from).to.deep.equal(place('6'));
      asked[2]?.answer([event(6)]);
      expect(await page).to.deep.equal([6]);
    });
  });

  it('fail for all who wait for them, and are then read again', async () => {
    const failing = follower(
      sharePages(() => {
        asked.push({ from: undefined, need: { expected: 0, keepsBytes: false }, answer() {} });
        return Promise.reject(new Error('away'));
      }),
    );
    const outcomes = await Promise.allSettled([failing(undefined, 1, 0), failing(undefined, 1, 0)]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    await failing(undefined, 1, 0).catch(() => undefined);
    expect(asked).to.have.length(2);
  });
});
