/** How a comparison with the chain reports what no node can tell any more. Source: docs/operating/shortfall.md. */
import { systemClock } from '@coffer/kernel';
import { eventually } from '@coffer/testing';
import { finalFundsOf } from '@coffer/treasury';
import { LAMPORTS_PER_SOL } from '@coffer/wallets/testing';
import { expect } from 'chai';
import { sceneOfReconciling } from '../testing/chainReconcile.ts';
import { startBearingOut } from './bearingOut.ts';
import { createChainReconciler } from './chainReconciler.ts';

const SOL = LAMPORTS_PER_SOL;

describe('Reconciling with nodes that have thrown their history away', () => {
  const on = sceneOfReconciling();
  const { reconcile, forge, forgedMove } = on;
  const forget = (statuses: 'kept' | 'forgotten') =>
    on.service.node.faults.inject({ kind: 'prune', statuses });
  afterEach(() => on.service.node.faults.clear());

  for (const statuses of ['kept', 'forgotten'] as const) {
    it(`says what cannot be told any more, and calls it no discrepancy: statuses ${statuses}`, async () => {
      const refs = [await on.app.deposit(on.player, 5n * SOL), await on.app.cashOut(on.player, SOL)];
      forget(statuses);
      const { chain, ...found } = await reconcile(true);
      expect(found).to.include({ ok: false, code: 'ledger/coverage_incomplete' });
      expect(chain).to.deep.include({ ok: false, code: 'ledger/coverage_incomplete', discrepancies: [] });
      expect(chain.checks.every(({ ok }) => ok)).to.equal(true);
      const moves = await Promise.all(refs.map((ref) => on.app.ended(ref)));
      expect(chain.notCovered).to.deep.include.members([
        ...moves.map(({ moveId, signature, slot }) => ({
          subject: moveId,
          signature,
          slot: String(slot),
        })),
      ]);
      const sol = chain.currencies.find(({ currency }) => currency === 'SOL');
      expect(sol).to.include({ ok: true, surplus: '0' });

      on.service.node.faults.clear();
      expect(await reconcile(true), 'by a node with all of it').to.include({ ok: true });
    });
  }

  it('needs them no more for what was borne out before, and loses none of that by a full run', async () => {
    const { moveId } = await on.app.ended(await on.app.deposit(on.player, 5n * SOL));
    expect(await reconcile()).to.include({ ok: true });
    forget('forgotten');
    for (const [full, isAsked] of [
      [false, false],
      [true, true],
      [false, false],
    ] as const) {
      const { chain } = await reconcile(full);
      expect(chain.discrepancies).to.deep.equal([]);
      expect(chain.notCovered.some(({ subject }) => subject === moveId)).to.equal(isAsked);
    }
  });

  it('has moves borne out soon after their end, without anybody asking', async () => {
    const { moveId } = await on.app.ended(await on.app.deposit(on.player, 5n * SOL));
    const { treasury, feePayer } = on.app;
    const reconciler = createChainReconciler({
      pool: on.service.pool,
      store: { comparePositions: () => 0, head: async () => undefined },
      clock: systemClock,
      chainOf: () => on.service.rpc,
      fundsOf: finalFundsOf,
      currenciesOf: async () => [{ id: 1, code: 'SOL', mint: 'native' }],
      walletsOf: async () => ({ treasury, feePayer }),
      onDoubt() {},
    });
    const bearingOut = startBearingOut({
      pool: on.service.pool,
      bearOut: reconciler.bearOut,
      hasChain: (environment) => environment === 'test',
      everyMs: 20,
      onTrouble: (error) => {
        throw error;
      },
    });
    const kept = 'select 1 from records.reconcile_chain_moves where move_id = $1';
    await eventually('it is borne out', async () => {
      return (await on.service.pool.query(kept, [moveId])).rowCount === 1 || undefined;
    });
    await bearingOut.stop();
    await reconciler.close();
    forget('forgotten');
    const { chain } = await reconcile();
    expect(chain.notCovered.map(({ subject }) => subject)).not.to.include(moveId);
    expect(chain.checks).to.deep.include({ name: 'chain/confirmed_moves', ok: true, examined: 0 });
  });

  it('says from where on the treasury was not seen, where they begin later than the last look', async () => {
    await on.app.deposit(on.player, 5n * SOL);
    expect(await reconcile()).to.include({ ok: true });
    const lost = await on.service.node.call('requestAirdrop', [on.app.treasury, SOL]);
    await eventually(
      'it is final',
      async () => (await on.service.rpc.transaction(String(lost))) ?? undefined,
    );
    forget('forgotten');
    await on.service.node.call('requestAirdrop', [on.app.treasury, SOL]);
    for (const full of [false, true, false]) {
      const { chain, ok } = await reconcile(full);
      expect(ok).to.equal(false);
      expect(chain.discrepancies).to.deep.equal([]);
      expect(chain.notCovered.map(({ subject }) => subject)).to.include(on.app.treasury);
    }
    on.service.node.faults.clear();
    const { chain, ok } = await reconcile();
    expect(ok).to.equal(true);
    expect(chain.unattributed.map(({ signature }) => signature)).to.include(lost);
  });

  it('still calls a forged move a discrepancy, where they have the time that it names', async () => {
    forget('kept');
    await on.app.deposit(on.player, SOL);
    const { to } = await on.service.rpc.history();
    const { moveId, subject, requested } = forgedMove('forged-late', SOL);
    const signature = '5'.repeat(88);
    await forge(moveId, 'forged-late', requested, {
      type: 'MoveConfirmed',
      data: { ...subject, signature, slot: to },
    });
    const { chain } = await reconcile();
    expect(chain.discrepancies.map(({ check, subject: about }) => `${check} ${about}`)).to.deep.equal([
      `chain/confirmed_moves ${moveId}`,
    ]);
  });
});
