import { expect } from 'chai';
import fc from 'fast-check';
import {
  amountAt,
  decodeStakes,
  encodeStakes,
  noStakes,
  type Stakes,
  stakeAt,
  stakeOf,
  standingAt,
  withConfirmed,
  withReleased,
  withStake,
} from './stakes.ts';

const TIMES = { lockedAt: '2026-01-31T12:00:00.000Z', confirmBy: '2026-01-31T12:15:00.001Z' };
const stakeNamed = (betId: string, amount = 1n) => ({ betId, userId: `usr_${betId}`, amount, ...TIMES });
const all = (stakes: Stakes) =>
  Array.from({ length: stakes.count }, (_, place) => stakeAt(stakes, place + 1));

describe('stakes of a pool', () => {
  it('are found by their bet and read back as they were added', () => {
    const stakes = withStake(
      withStake(noStakes(), stakeNamed('a', 2n ** 64n - 1n)),
      stakeNamed('B'.repeat(64)),
    );
    expect(stakeOf(stakes, 'B'.repeat(64))).to.equal(2);
    expect(stakeOf(stakes, 'c')).to.equal(undefined);
    expect(amountAt(stakes, 1)).to.equal(2n ** 64n - 1n);
    expect(all(stakes)).to.deep.equal([
      { stake: 1, standing: 'locked', ...stakeNamed('a', 2n ** 64n - 1n) },
      { stake: 2, standing: 'locked', ...stakeNamed('B'.repeat(64)) },
    ]);
  });

  it('have one standing, which changes once', () => {
    const one = withStake(noStakes(), stakeNamed('a'));
    const confirmed = withConfirmed(one, 1);
    expect(standingAt(confirmed, 1)).to.equal('confirmed');
    expect(() => withReleased(confirmed, 1)).to.throw();
    expect(() => withConfirmed(withReleased(one, 1), 1)).to.throw();
    expect(() => withStake(one, stakeNamed('a'))).to.throw();
    expect(() => withConfirmed(one, 2)).to.throw();
  });

  it('of a version never change, whatever is done to others, and survive a snapshot', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            from: fc.nat(),
            does: fc.constantFrom('lock', 'confirm', 'release'),
            stake: fc.nat(),
            length: fc.integer({ min: 1, max: 60 }),
          }),
          { maxLength: 60 },
        ),
        (steps) => {
          const versions: { stakes: Stakes; shown: readonly unknown[] }[] = [
            { stakes: noStakes(), shown: [] },
          ];
          let bets = 0;
          for (const { from, does, stake, length } of steps) {
            // Mostly the newest version, sometimes any.
            const base = versions[from % 3 === 0 ? from % versions.length : versions.length - 1];
            if (!base) continue;
            const { stakes, shown } = base;
            if (does === 'lock') {
              bets += 1;
              const added = stakeNamed(`${bets}${'x'.repeat(length)}`, BigInt(bets));
              versions.push({
                stakes: withStake(stakes, added),
                shown: [...shown, { stake: stakes.count + 1, standing: 'locked', ...added }],
              });
              continue;
            }
            const chosen = stakes.count === 0 ? 0 : 1 + (stake % stakes.count);
            if (chosen === 0 || standingAt(stakes, chosen) !== 'locked') continue;
            const standing = does === 'confirm' ? 'confirmed' : 'released';
            versions.push({
              stakes: does === 'confirm' ? withConfirmed(stakes, chosen) : withReleased(stakes, chosen),
              shown: shown.map((one, place) => (place === chosen - 1 ? { ...Object(one), standing } : one)),
            });
          }
          for (const { stakes, shown } of versions) {
            expect(all(stakes)).to.deep.equal(shown);
            const decoded = decodeStakes(structuredClone(encodeStakes(stakes)));
            expect(all(decoded)).to.deep.equal(shown);
            for (const { betId, stake } of all(stakes)) expect(stakeOf(decoded, betId)).to.equal(stake);
          }
        },
      ),
    ));
});
