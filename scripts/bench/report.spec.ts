import { expect } from 'chai';
import { textOf } from './reportText.ts';
import type { SoakMinute } from './soak.ts';
import { resultOfParts } from './testing/resultOfParts.ts';

const minute = (p99Ms: number, lateP99Ms: number): SoakMinute => ({
  answers: 60_000,
  measuredSeconds: 60,
  p50Ms: 1,
  p99Ms,
  p999Ms: p99Ms,
  lateP99Ms,
  answersInAll: 60_000,
  fromUs: 0,
  toUs: 0,
  keptAnswers: [],
  liveBets: 60_000,
  residentMiB: 100,
});

const soakOf = (...minutes: readonly SoakMinute[]) =>
  resultOfParts({ soak: { perSecond: 1_000, yardstickP99Ms: [4, 40], minutes } });

describe('the report of the bench', () => {
  it('compares the last minute of a soak with the second', () => {
    const { verdicts, passed } = soakOf(minute(99, 1), minute(10, 1), minute(50, 1), minute(11, 1));
    expect(verdicts.find(({ bar }) => bar === 'soakP99')).to.include({ value: 1.1, passed: true });
    expect(passed).to.equal(true);
  });

  it('leaves out minutes in which the load generator was late itself', () => {
    const { verdicts } = soakOf(minute(9, 1), minute(99, 20), minute(10, 1), minute(11, 1), minute(80, 20));
    expect(verdicts.find(({ bar }) => bar === 'soakP99')).to.include({ value: 1.1 });
  });

  it('tells how even the machine was in a soak', () => {
    const text = textOf(soakOf(minute(9, 1), minute(10, 1), minute(11, 1)));
    expect(text).to.include('plain Express at the same share of its most').and.include('4.00 40.0');
  });

  it('tells of a longer soak whether there is a trend, which two minutes do not', () => {
    const minutes = [99, 10, 12, 40, 12, 12, 14, 12, 13, 20, 18, 18].map((p99Ms) => minute(p99Ms, 1));
    const trend = 'p99 of the last 5 minutes / of the 5 behind the first, medians: 1.50';
    expect(textOf(soakOf(...minutes))).to.include(trend);
    expect(textOf(soakOf(...minutes, minute(500, 20), minute(500, 20), minute(500, 20)))).to.include(trend);
    expect(textOf(soakOf(...minutes.slice(0, 10)))).not.to.include('medians');
  });

  it('does not take an early minute for the last one', () => {
    const late = minute(900, 20);
    const { verdicts, unmeasured } = soakOf(minute(9, 1), minute(10, 1), minute(11, 1), late, late, late);
    expect([verdicts.filter(({ bar }) => bar.startsWith('soak')), unmeasured]).to.deep.equal([
      [],
      ['soak: the load generator was late itself throughout its first or its second half'],
    ]);
  });

  it('keeps the figures of a soak that shows nothing, says why, and does not call it passed', () => {
    const result = soakOf(minute(9, 1), minute(9, 1), minute(9, 20));
    expect(result).to.deep.include({
      passed: false,
      verdicts: [],
      unmeasured: ['soak: the load generator was late itself throughout its first or its second half'],
    });
    expect(textOf(result)).to.include('Not measured: soak:').and.include('1,000');
  });
});
