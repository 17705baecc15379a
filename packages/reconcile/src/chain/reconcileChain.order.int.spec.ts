/** Events at the worst moment between two looks of a comparison with the chain: no false alarm, and no missed one. */
import { systemClock } from '@coffer/kernel';
import { testWallet } from '@coffer/solana/testing';
import { finalFundsOf } from '@coffer/treasury';
import type { AppOnChain, PlayerOnChain } from '@coffer/treasury/testing';
import { LAMPORTS_PER_SOL } from '@coffer/wallets/testing';
import { expect } from 'chai';
import { type ReconciledOnChain, startReconciledOnChain } from '../testing/chainReconcile.ts';
import { createChainReconciler } from './chainReconciler.ts';
import type { ChainReport } from './chainReport.ts';

const SOL = LAMPORTS_PER_SOL;

interface Moments {
  readonly beforeFunds?: () => Promise<unknown>;
  readonly afterFunds?: () => Promise<unknown>;
  /** The log was asked for its end. */
  readonly afterHead?: () => Promise<unknown>;
}

describe('A comparison with the chain raises no false alarm', () => {
  let service: ReconciledOnChain;
  let app: AppOnChain;
  let player: PlayerOnChain;

  before(async () => {
    service = await startReconciledOnChain();
  });
  after(() => service.stop());
  beforeEach(async () => {
    app = await service.newApp();
    player = await app.newPlayer();
    await app.deposit(player, 5n * SOL);
  });

  /** The first looks of runs that looked again, and the last report. */
  async function reconcile(moments: Moments, shown = (funds: bigint) => funds) {
    const doubts: ChainReport[] = [];
    const { pool, rpc, world } = service;
    const { store } = world;
    const { treasury, feePayer } = app;
    const reconciler = createChainReconciler({
      pool,
      store: {
        comparePositions: store.comparePositions,
        async head() {
          const head = await store.head();
          await moments.afterHead?.();
          return head;
        },
      },
      clock: systemClock,
      chainOf: () => rpc,
      async fundsOf(...of) {
        await moments.beforeFunds?.();
        const funds = await finalFundsOf(...of);
        await moments.afterFunds?.();
        return shown(funds);
      },
      currenciesOf: async () => [{ id: 1, code: 'SOL', mint: 'native' }],
      walletsOf: async () => ({ treasury, feePayer }),
      onDoubt: (report) => doubts.push(report),
      againAfterMs: 0,
    });
    const report = await reconciler.reconcile({
      appId: app.appId,
      environment: 'test',
      mode: 'incremental',
    });
    await reconciler.close();
    return { doubts, report };
  }
  const figuresOf = ({ currencies: [sol] }: ChainReport) => {
    if (!sol) return expect.fail('SOL is on the chain.');
    const { onChain, inFlight, liabilities, shortfall } = sol;
    return { onChain, inFlight, liabilities, shortfall };
  };

  it('for a cash-out that leaves and is booked after the look at the books', async () => {
    const { doubts, report } = await reconcile({ beforeFunds: () => app.cashOut(player, SOL) });
    expect(doubts).to.deep.equal([]);
    const figures = { onChain: 4n * SOL, inFlight: SOL, liabilities: 5n * SOL, shortfall: 0n };
    expect(figuresOf(report)).to.deep.equal(figures);
  });

  it('for one that the read models do not show before the log was asked how far it is', async () => {
    const client = await service.pool.connect();
    const { doubts, report } = await reconcile({
      async beforeFunds() {
        // Readers see the rows unchanged, and nobody can write any.
        await client.query('begin; lock table read_v1.moves in share mode');
        await app.cashOut(player, SOL);
      },
      afterHead: () => client.query('commit'),
    }).finally(() => client.release(true));
    expect(doubts).to.deep.equal([]);
    expect(figuresOf(report)).to.include({ inFlight: SOL, shortfall: 0n });
  });

  it('for a deposit that is booked after the look at the funds', async () => {
    const { doubts, report } = await reconcile({ afterFunds: () => app.deposit(player, SOL) });
    expect(doubts).to.deep.equal([]);
    const figures = { onChain: 5n * SOL, inFlight: 0n, liabilities: 5n * SOL, shortfall: 0n };
    expect(figuresOf(report)).to.deep.equal(figures);
  });

  it('for funds that a node shows too late: it looks once more', async () => {
    const lag = { lamports: SOL };
    const { doubts, report } = await reconcile({}, (funds) => {
      const shown = funds - lag.lamports;
      lag.lamports = 0n;
      return shown;
    });
    expect(doubts.map(figuresOf)).to.deep.equal([
      { onChain: 4n * SOL, inFlight: 0n, liabilities: 5n * SOL, shortfall: SOL },
    ]);
    expect(report.ok).to.equal(true);
  });

  it('and yet tells of money that leaves at the very moment', async () => {
    const thief = testWallet('thief at the moment').address;
    let taken: string | undefined;
    const { doubts, report } = await reconcile({
      async beforeFunds() {
        taken ??= await app.takeFromTreasury({ to: thief, amount: SOL, moveId: 'mov_theft' });
      },
    });
    expect(doubts.map(figuresOf)).to.deep.equal([
      { onChain: 4n * SOL, inFlight: 0n, liabilities: 5n * SOL, shortfall: SOL },
    ]);
    expect(report.discrepancies.map(({ subject }) => subject)).to.deep.equal([taken]);
    expect(figuresOf(report)).to.include({ shortfall: SOL });
  });
});
