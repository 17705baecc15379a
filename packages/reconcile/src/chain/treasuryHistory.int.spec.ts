/** How the history of a treasury is taken over: page by page, once, and never past what is not final. */
import { createPool, type Pool } from '@coffer/database';
import { type ExecutedTransaction, TransactionUnreadableError } from '@coffer/solana';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { migrateReconcile } from '../migrate.ts';
import { readTreasuryHistory } from './treasuryHistory.ts';

const TREASURY = 'treasury';
const PLACE = { appId: 'app_1', environment: 'test' } as const;

describe('the history of a treasury', () => {
  let database: TestDatabase;
  let pool: Pool;
  let history: { signature: string; change: bigint; kind: 'final' | 'undecided' | 'unreadable' }[];
  let asked: string[];

  before(async () => {
    database = await createTestDatabase();
    pool = createPool({
      connectionString: database.connectionString,
      applicationName: 'spec',
      onIdleError() {},
    });
    await migrateReconcile(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });
  beforeEach(async () => {
    history = [];
    asked = [];
    await pool.query('delete from records.reconcile_chain_histories');
    await pool.query('delete from records.reconcile_chain_transfers');
  });

  const add = (count: number, kind: 'final' | 'undecided' | 'unreadable' = 'final', change = 1n) => {
    for (let index = 0; index < count; index += 1) {
      history.push({ signature: `s-${history.length}`, change, kind });
    }
  };
  const chain: Parameters<typeof readTreasuryHistory>[1] = {
    async transactionsOf(_address, { limit, before, until }) {
      const newestFirst = history.toReversed();
      const from = newestFirst.findIndex(({ signature }) => signature === before) + 1;
      const end = newestFirst.findIndex(({ signature }) => signature === until);
      return newestFirst
        .slice(from, end < 0 ? undefined : end)
        .slice(0, limit)
        .map(({ signature }) => ({ signature, slot: 1n, error: null, memo: null }));
    },
    async transaction(signature): Promise<ExecutedTransaction | undefined> {
      asked.push(signature);
      const known = history.find((one) => one.signature === signature);
      if (known?.kind === 'unreadable') throw new TransactionUnreadableError('Of a version to come.');
      if (!known || known.kind === 'undecided') return undefined;
      const lamports = [{ address: TREASURY, before: 10n, after: 10n + known.change }];
      return { signature, slot: 1n, error: null, signers: [], feeLamports: 0n, lamports, tokens: [] };
    },
  };
  const read = () =>
    readTreasuryHistory(
      pool,
      chain,
      { ...PLACE, treasury: TREASURY, addresses: [TREASURY], mints: ['native'] },
      { signal: new AbortController().signal, onLooked() {} },
    );
  const kept = async () => {
    const { rows } = await pool.query<{ signature: string; change: string | null }>(
      'select signature, change from records.reconcile_chain_transfers',
    );
    return new Map(rows.map(({ signature, change }) => [signature, change]));
  };

  it('is read to its beginning over all pages, and then only what is new', async () => {
    add(1_203);
    await read();
    expect(await kept()).to.have.property('size', 1_203);
    expect(new Set(asked)).to.have.property('size', 1_203);
    asked = [];
    add(2);
    await read();
    expect(asked.toSorted()).to.deep.equal(['s-1203', 's-1204']);
    expect(await kept()).to.have.property('size', 1_205);
  });

  it('is read again from the oldest that was not final', async () => {
    add(3);
    add(1, 'undecided');
    add(2);
    await read();
    expect([...(await kept()).keys()].toSorted()).to.deep.equal(['s-0', 's-1', 's-2', 's-4', 's-5']);
    const [, , , late] = history;
    if (!late) return expect.fail('It is there.');
    late.kind = 'final';
    asked = [];
    await read();
    expect(asked.toSorted()).to.deep.equal(['s-3', 's-4', 's-5']);
    expect((await kept()).get('s-3')).to.equal('1');
  });

  it('keeps what cannot be read as such, and nothing of what names the treasury and changes nothing', async () => {
    add(1, 'unreadable');
    add(1, 'final', 0n);
    add(1, 'final', -7n);
    await read();
    expect([...(await kept())].toSorted()).to.deep.equal([
      ['s-0', null],
      ['s-2', '-7'],
    ]);
  });
});
