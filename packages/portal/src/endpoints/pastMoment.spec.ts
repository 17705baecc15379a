import { expect } from 'chai';
import { momentOf, type PastMoment, pastMoment } from './pastMoment.ts';

describe('a moment of the past', () => {
  const rows: readonly [text: string, moment: PastMoment][] = [
    ['2026-01-02T03:04:05Z', { kind: 'time', time: new Date('2026-01-02T03:04:05Z') }],
    ['2026-01-02', { kind: 'time', time: new Date('2026-01-02') }],
    ['1234', { kind: 'ordinal', ordinal: 1234 }],
    ['12/34', { kind: 'position', position: '12/34' }],
  ];
  for (const [text, moment] of rows) {
    it(`is ${moment.kind === 'time' ? 'a time' : `a ${moment.kind}`}, written ${text}`, () => {
      expect(momentOf(pastMoment.parse(text))).to.deep.equal(moment);
    });
  }

  it('is not a time that the calendar does not have', () =>
    expect(pastMoment.safeParse('2026-13-01').success).to.equal(false));
});
