import { expect } from 'chai';
import { moveReport, quantile } from './moveReport.ts';
import type { MoveRound } from './moveRows.ts';

describe('the report on moves', () => {
  const roundWith = (confirmedPerSecond: number, finalPerSecond: number, delayMs: number): MoveRound => ({
    bare: { sentPerSecond: 900, finalPerSecond },
    confirmedPerSecond,
    requestedPerSecond: 500,
    cpuMsPerMove: delayMs,
    times: [
      {
        requested: 1_000,
        signed: 1_000 + delayMs,
        submitted: 1_100 + delayMs,
        final: 4_000,
        confirmed: 4_200,
        credited: 4_250,
      },
    ],
  });

  it('compares deposits with bare transfers of the same round', () => {
    const { shareOfBare, rates } = moveReport({
      movesPerRound: 1,
      rounds: [roundWith(50, 100, 1), roundWith(10, 100, 1), roundWith(60, 200, 1)],
    });
    expect(shareOfBare).to.equal(0.3);
    expect(rates.map(({ perSecond }) => perSecond)).to.deep.equal([900, 100, 500, 50]);
  });

  it('tells where the time of a deposit went, over all of them', () => {
    const { stages, cpuMsPerMove } = moveReport({
      movesPerRound: 1,
      rounds: [roundWith(1, 1, 10), roundWith(1, 1, 20), roundWith(1, 1, 90)],
    });
    const stage = (from: string, to: string) => {
      const found = stages.find((one) => one.from === from && one.to === to);
      return found && [found.p50Ms, found.p99Ms];
    };
    expect(stage('requested', 'signed')).to.deep.equal([20, 90]);
    expect(stage('final', 'credited')).to.deep.equal([250, 250]);
    expect(stage('requested', 'credited')).to.deep.equal([3_250, 3_250]);
    expect(cpuMsPerMove).to.equal(20);
  });

  it('uses a measured value as the quantile', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile([7], 0.01)]).to.deep.equal([50, 99, 7]);
    expect(() => quantile([], 0.5)).to.throw('Nothing was measured');
  });
});
