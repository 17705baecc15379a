import { expect } from 'chai';
import type { Queryable } from './pool.ts';
import { requireSupportedPostgres, UnsupportedPostgresError } from './serverVersion.ts';

/** Just enough of a server. */
function server(number: string, text: string): Queryable {
  const query = async () => ({ rows: [{ number, text }] });
  // It answers every form of query alike, which the driver's overloads cannot express.
  return { query } as unknown as Queryable;
}

describe('the version of PostgreSQL', () => {
  for (const [number, text, major] of [
    ['150000', '15.0', 15],
    ['150018', '15.18 (Debian 15.18-0+deb12u1)', 15],
    ['180001', '18.1', 18],
    ['190000', '19beta1', 19],
  ] as const) {
    it(`${text} is accepted`, async () =>
      expect(await requireSupportedPostgres(server(number, text))).to.deep.equal({ major, text }));
  }

  for (const [number, text] of [
    ['140019', '14.19'],
    ['90624', '9.6.24'],
  ] as const) {
    it(`${text} is refused, with advice`, async () => {
      const error = await requireSupportedPostgres(server(number, text)).catch((refusal) => refusal);
      expect(error).to.be.instanceOf(UnsupportedPostgresError);
      expect(error.message).to.include(text).and.include('15 to 18').and.include('DATABASE_URL');
    });
  }
});
