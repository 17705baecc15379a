/** How the history of a treasury is read: page by page, once, and never past what is not final. */
import { migrate, type Pool } from '@coffer/database';
import { type ExecutedTransaction, TransactionUnreadableError } from '@coffer/solana';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { reconcileMigrations } from '../migrations.ts';
import { readTreasuryHistory } from './treasuryHistory.ts';

const TREASURY = 'treasury';
const FIRST_SLOT = 100n;
type Kind = 'final' | 'undecided' | 'unreadable' | 'notKept';
const PLACE = { appId: 'app_1', environment: 'test' } as const;

describe('the history of a treasury', () => {
  let database: TestDatabase;
  let pool: Pool;
  let history: { signature: string; change: bigint; kind: Kind }[];
  /** What nodes have. */
  let held: { from: bigint; to: bigint };
  let asked: string[];

  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
    await migrate(pool, [reconcileMigrations]);
  });
  after(() => database.drop());
  beforeEach(async () => {
    history = [];
    held = { from: 0n, to: 200n };
    asked = [];
    await pool.query('delete from records.reconcile_chain_histories');
    await pool.query('delete from records.reconcile_chain_transfers');
  });

  const add = (count: number, kind: Kind = 'final', change = 1n) => {
    for (let index = 0; index < count; index += 1) {
      history.push({ signature: `s-${history.length}`, change, kind });
    }
  };
  const slotOf = (kind: string) => (kind === 'undecided' ? held.to + 1n : FIRST_SLOT);
  const chain: Parameters<typeof readTreasuryHistory>[1] = {
    async transactionsOf(_address, { limit, before, until }) {
      const newestFirst = history.toReversed();
      const from = newestFirst.findIndex(({ signature }) => signature === before) + 1;
      const end = newestFirst.findIndex(({ signature }) => signature === until);
      return newestFirst
        .slice(from, end < 0 ? undefined : end)
        .slice(0, limit)
        .map(({ signature, kind }) => ({ signature, slot: slotOf(kind), error: null, memo: null }));
    },
    async transaction(signature): Promise<ExecutedTransaction | undefined> {
      asked.push(signature);
      const known = history.find((one) => one.signature === signature);
      if (known?.kind === 'unreadable') throw new TransactionUnreadableError('Of a version to come.');
      if (!known || known.kind === 'undecided' || known.kind === 'notKept') return undefined;
      const lamports = [{ address: TREASURY, before: 10n, after: 10n + known.change }];
      return { signature, slot: 1n, error: null, signers: [], feeLamports: 0n, lamports, tokens: [] };
    },
  };
  const read = () =>
    readTreasuryHistory(
      pool,
      chain,
      {
        ...PLACE,
        treasury: TREASURY,
        addresses: [{ address: TREASURY, mint: 'native' }],
        mints: ['native'],
        kept: { from: held.from, fromAt: null, to: held.to },
        firstSlots: new Map([['native', FIRST_SLOT]]),
        mode: 'incremental',
      },
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

  it('has a hole where nodes begin later than it was seen, until one goes back far enough', async () => {
    add(2);
    expect(await read()).to.deep.equal([]);
    held = { from: 201n, to: 300n };
    expect(await read(), 'right behind').to.deep.equal([]);
    held = { from: 302n, to: 400n };
    add(1);
    for (let turn = 0; turn < 2; turn++) {
      expect(await read()).to.deep.equal([{ subject: TREASURY, signature: null, slot: 300n }]);
    }
    held = { from: 301n, to: 400n };
    expect(await read()).to.deep.equal([]);
    held = { from: 401n, to: 500n };
    expect(await read(), 'seen up to there meanwhile').to.deep.equal([]);
  });

  it('has one from its beginning where nodes no longer have the first move, and none where there was none', async () => {
    held = { from: FIRST_SLOT + 2n, to: 300n };
    expect(await read()).to.deep.equal([{ subject: TREASURY, signature: null, slot: FIRST_SLOT }]);
    held = { from: FIRST_SLOT, to: 300n };
    expect(await read()).to.deep.equal([]);
  });

  it('has one if a node lists what is final but no longer holds it', async () => {
    add(1);
    add(1, 'notKept');
    add(1);
    expect(await read()).to.have.length(1);
    const [, lost] = history;
    if (lost) lost.kind = 'final';
    expect(await read()).to.deep.equal([]);
    expect((await kept()).size).to.equal(3);
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
