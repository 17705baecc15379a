import type { Checkpoint } from '@coffer/consumers';
import type { Position } from '@coffer/event-store';
import { expect } from 'chai';
import { approach } from './approach.ts';
import type { Pace } from './pace.ts';

describe('a fold on its way to the head of the log', () => {
  const checkpointAt = (ordinal: number): Checkpoint => ({
    position: String(ordinal) as Position,
    eventId: `event ${ordinal - 1}`,
    ordinal,
  });

  let readsAhead: boolean[];
  let told: { readonly done: number; readonly of: number }[];
  beforeEach(() => {
    readsAhead = [];
    told = [];
  });

  /** The places it goes to. Each time the log has grown by so many events; at first it holds 100,000. */
  async function placesOf(growth: readonly number[], pace?: Pace): Promise<readonly number[]> {
    const { signal } = new AbortController();
    const places: number[] = [];
    let head = 100_000;
    let reached = 0;
    await approach(
      {
        checkpoint: () => checkpointAt(reached),
        async advance(to, { onProgress, isUnhurried }) {
          readsAhead.push(!isUnhurried?.());
          reached = Number(to?.position);
          places.push(reached);
          head += growth[places.length - 1] ?? 0;
          await onProgress?.(reached);
        },
      },
      async () => checkpointAt(head),
      { signal, onProgress: (progress) => void told.push(progress), ...(pace && { pace }) },
    );
    return places;
  }

  function paceThat(is: { isUnhurried: boolean; lateAfter: number }): Pace {
    let rests = 0;
    return {
      isAwaited: async () => !is.isUnhurried,
      isUnhurried: () => is.isUnhurried,
      isLate: () => rests >= is.lateAfter,
      async rest() {
        rests += 1;
      },
    };
  }

  it('goes there until fewer than 10,000 events are left', async () => {
    expect(await placesOf([50_000, 10_000, 9_999])).to.deep.equal([100_000, 150_000, 160_000, 169_999]);
    expect(readsAhead).to.deep.equal([true, true, true, true]);
  });

  it('goes as near as it comes', async () => {
    expect(await placesOf([50_000, 50_000, 50_000])).to.deep.equal([100_000, 150_000, 200_000]);
    expect(told.map(({ done, of }) => of - done)).to.deep.equal([0, 0, 0]);
  });

  it('goes on at its pace where nobody waits for it, however fast the log grows, until it is late', async () => {
    const pace = paceThat({ isUnhurried: true, lateAfter: 4 });
    const growth = [200_000, 200_000, 200_000, 200_000, 200_000];
    expect(await placesOf(growth, pace)).to.deep.equal([100_000, 300_000, 500_000, 700_000, 900_000]);
    expect(readsAhead).to.deep.equal([false, false, false, false, false]);
  });

  it('goes as near as it comes where somebody waits for it', async () => {
    const pace = paceThat({ isUnhurried: false, lateAfter: 4 });
    expect(await placesOf([200_000, 200_000], pace)).to.deep.equal([100_000, 300_000]);
  });
});
