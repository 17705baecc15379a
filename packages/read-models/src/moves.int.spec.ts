import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { currencyBooks, movesUnderWay, movesUnderWayOfWallet } from './moves.ts';
import { liveReadSchema } from './schema.ts';
import { readModelsTemplate } from './testing/migrateReadModels.ts';

const PLACE = { appId: 'app_1', environment: 'test', currencyId: 2 } as const;

describe('moves in the read models', () => {
  let database: TestDatabase;
  let pool: Pool;
  let schema: string;
  let rows = 0;

  before(async () => {
    database = await createTestDatabase(readModelsTemplate);
    pool = database.pool;
    schema = await liveReadSchema(pool);
  });
  after(() => database.drop());
  beforeEach(async () => {
    for (const table of ['moves', 'holds', 'trial_balances']) await pool.query(`truncate ${schema}.${table}`);
  });

  const insert = async (table: string, row: Readonly<Record<string, unknown>>) => {
    await pool.query(
      `insert into ${schema}.${table} select * from json_populate_record(null::${schema}.${table}, $1)`,
      [JSON.stringify(row)],
    );
  };
  const move = async (given: Readonly<Record<string, unknown>>) => {
    rows += 1;
    await insert('moves', {
      move_id: `mov_${rows}`,
      ordinal: rows,
      revision: 0,
      app_id: 'app_1',
      environment: 'test',
      owner_id: 'app_1',
      operation: 'cashOut',
      key: `ref-${rows}`,
      user_id: 'ann',
      currency_id: 2,
      mint: 'native',
      amount: '18446744073709551615',
      wallet_id: 'wlt_treasury',
      from_address: 'treasury',
      to_address: 'ann',
      status: 'pending',
      attempts: 0,
      requested_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
      ...given,
    });
  };
  const hold = (ref: string, amount: string, given: Readonly<Record<string, unknown>> = {}) =>
    insert('holds', {
      stream: 'account-test.app_1.ann.2',
      hold_id: `cashout:${ref}`,
      app_id: 'app_1',
      environment: 'test',
      user_id: 'ann',
      currency_id: 2,
      purpose: 'cashout',
      amount,
      held_at_revision: 1,
      ...given,
    });
  const closed = { payout: '0', closed_at_revision: 2 };
  const refs = (found: readonly { readonly key: string }[]) => found.map(({ key }) => key);

  it('are listed while in flight, oldest first, for one app, environment and currency', async () => {
    for (const status of ['confirmed', 'failed', 'submitted', 'pending']) await move({ key: status, status });
    await move({ key: 'other-app', app_id: 'app_2' });
    await move({ key: 'live', environment: 'live' });
    await move({ key: 'other-currency', currency_id: 3 });
    await move({ key: 'no-currency', currency_id: null });
    await move({ key: 'last', signature: 'sig', slot: '7', error_code: null, attempts: 2 });

    const found = await movesUnderWay(pool, PLACE, 10);
    expect(refs(found)).to.deep.equal(['submitted', 'pending', 'last']);
    expect(found[2]).to.deep.include({
      amount: 18446744073709551615n,
      signature: 'sig',
      slot: 7n,
      attempts: 2,
      errorCode: null,
      requestedAt: '2026-01-31T12:00:00.000Z',
    });
    expect(refs(await movesUnderWay(pool, PLACE, 2))).to.deep.equal(['submitted', 'pending']);
  });

  it('are listed by the wallet that pays', async () => {
    await move({ key: 'a', wallet_id: 'wlt_ann', operation: 'withdraw', currency_id: null });
    await move({ key: 'b', wallet_id: 'wlt_ann', operation: 'deposit', status: 'confirmed' });
    await move({ key: 'c', wallet_id: 'wlt_bob' });
    expect(refs(await movesUnderWayOfWallet(pool, 'wlt_ann', 10))).to.deep.equal(['a']);
  });

  it('make up the books of a currency: what is owed to players and earners', async () => {
    const balances = {
      available: '60',
      held: '30',
      pools: '5',
      referrals: '2',
      house: '13',
      external: '-110',
    };
    for (const [account, balance] of Object.entries(balances)) {
      rows += 1;
      const book = { ordinal: rows, app_id: 'app_1', environment: 'test', currency_id: 2, account, balance };
      await insert('trial_balances', { ...book, book: account });
      await insert('trial_balances', { ...book, book: `${account} 3`, ordinal: rows + 100, currency_id: 3 });
    }
    expect(await currencyBooks(pool, PLACE)).to.deep.equal({ liabilities: 97n, inFlight: 0n });
    expect(await currencyBooks(pool, { ...PLACE, appId: 'nobody' })).to.deep.equal({
      liabilities: 0n,
      inFlight: 0n,
    });
  });

  it('are in flight from their signature until they are booked', async () => {
    const inFlight = async () => (await currencyBooks(pool, PLACE)).inFlight;
    await move({ key: 'requested', status: 'pending' });
    await hold('requested', '1');
    await move({ key: 'failed', status: 'failed' });
    await hold('failed', '2');
    await move({ key: 'booked', status: 'confirmed' });
    await hold('booked', '4', closed);
    await move({ key: 'of-bob', status: 'submitted', user_id: 'bob' });
    await hold('of-bob', '8');
    await hold('nothing-yet', '16');
    await move({ key: 'elsewhere', status: 'submitted', environment: 'live' });
    await hold('elsewhere', '32', { environment: 'live', stream: 'account-live.app_1.ann.2' });
    expect(await inFlight()).to.equal(0n);

    await move({ key: 'signed', status: 'submitted' });
    await hold('signed', '64');
    await move({ key: 'confirmed', status: 'confirmed' });
    await hold('confirmed', '128');
    expect(await inFlight()).to.equal(192n);
  });
});
