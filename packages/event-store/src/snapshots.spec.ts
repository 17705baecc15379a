/** When a state that stays in the cache is saved. */
import { expect } from 'chai';
import { hasGrownByHalf } from './snapshots.ts';

const STREAMS = Array.from({ length: 100 }, (_, number) => `tally-test.app_1.${number}`);
const LAST_REVISION = 2_000;

describe('a state that stays in the cache', () => {
  /** Each at once when it is due. */
  const savesOf = (stream: string): readonly number[] => {
    const saves: number[] = [];
    for (let revision = 0; revision <= LAST_REVISION; revision++) {
      const need = { stream, revision, savedRevision: saves.at(-1) ?? -1, bytes: 1_000, isEnded: false };
      if (hasGrownByHalf(need)) saves.push(revision);
    }
    return saves;
  };

  it('is saved when its stream has grown by half, and half as much again at the latest', () => {
    for (const stream of STREAMS) {
      let saved = -1;
      for (const next of [...savesOf(stream), LAST_REVISION]) {
        const least = Math.max(128, saved / 2);
        if (next < LAST_REVISION) expect(next - saved, stream).to.be.at.least(least);
        expect(next - saved, stream).to.be.below(least * 1.5 + 1);
        saved = next;
      }
    }
  });

  it('is saved at a revision of its own, so that streams which grow in step do not come together', () => {
    const first = STREAMS.map((stream) => savesOf(stream)[0] ?? 0);
    for (let from = 127; from < 191; from += 16) {
      const near = first.filter((revision) => revision >= from && revision < from + 16);
      expect(near, `from ${from}`).to.have.length.within(12, 40);
    }
  });
});
