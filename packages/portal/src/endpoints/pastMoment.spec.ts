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

  for (const text of [
    '2026-13-01',
    '2026-02-30',
    '2026-02-29',
    '2026-04-31T12:00:00Z',
    '2026-02-30T23:00:00-05:00',
    '2026-01-31T25:00:00Z',
  ]) {
    it(`is not a time that the calendar does not have: ${text}`, () =>
      expect(pastMoment.safeParse(text).success).to.equal(false));
  }

  for (const text of ['2024-02-29', '2026-01-31T23:59:59.999+14:00', '2025-12-31T24:00:00Z']) {
    it(`is any time that it has: ${text}`, () => expect(pastMoment.safeParse(text).success).to.equal(true));
  }
});
