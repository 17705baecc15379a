import { expect } from 'chai';
import { rowTypes } from './rows.ts';

describe('a recorded time', () => {
  const timeOf = rowTypes.getTypeParser(1184, 'text');

  for (const [text, time] of [
    ['2026-01-31 12:00:00+00', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31 12:00:00.5+00', '2026-01-31T12:00:00.500Z'],
    ['2026-01-31 12:00:00.057999+00', '2026-01-31T12:00:00.057Z'],
    ['2026-01-31 12:00:01.57+00', '2026-01-31T12:00:01.570Z'],
    ['2024-02-29 23:59:59.999999+00', '2024-02-29T23:59:59.999Z'],
  ] as const) {
    it(`${text} is read to the millisecond`, () => expect(timeOf(text)).to.deep.equal(new Date(time)));
  }
});
