/** What a comparison of the books with the chain proves, and what it finds. Source: docs/api.md, Reconciling. */
import { randomUUID } from 'node:crypto';
import { requireStatus } from '@coffer/host/testing';
import { type MoveEvent, treasuryMovePlace } from '@coffer/moves';
import { testWallet } from '@coffer/solana/testing';
import { GEM, LAMPORTS_PER_SOL } from '@coffer/wallets/testing';
import { expect } from 'chai';
import { type ChainedResult, sceneOfReconciling } from '../testing/chainReconcile.ts';

const SOL = LAMPORTS_PER_SOL;

describe('Reconciling with the chain', () => {
  const on = sceneOfReconciling();
  const { reconcile, forge, forgedMove } = on;
  const figuresOf = ({ chain }: ChainedResult, currency: string) =>
    chain.currencies.find((one) => one.currency === currency);
  const examined = ({ chain }: ChainedResult) =>
    Object.fromEntries(chain.checks.map(({ name, examined: count }) => [name, count]));

  it('finds what was deposited and cashed out, in lamports and in tokens, each move by its signature', async () => {
    await on.app.deposit(on.player, 5n * SOL);
    await on.app.deposit(on.player, 700n, GEM.id);
    await on.app.cashOut(on.player, 2n * SOL);
    await on.app.cashOut(on.player, 300n, GEM.id);

    const first = await reconcile();
    expect(first.chain.discrepancies).to.deep.equal([]);
    expect(first).to.include({ ok: true });
    expect(first.chain).to.deep.include({ ok: true, mode: 'incremental', treasury: on.app.treasury });
    expect(first.chain).to.deep.include({ warnings: [], unattributed: [] });
    expect(figuresOf(first, 'SOL')).to.deep.equal({
      currency: 'SOL',
      ok: true,
      onChain: String(3n * SOL),
      liabilities: String(3n * SOL),
      inFlight: '0',
      surplus: '0',
    });
    expect(figuresOf(first, 'GEM')).to.include({ onChain: '400', liabilities: '400', surplus: '0' });
    expect(examined(first)).to.deep.equal({
      'chain/confirmed_moves': 4,
      'chain/failed_moves': 0,
      'chain/unknown_transfer': 4,
    });

    await on.app.cashOut(on.player, SOL);
    const second = await reconcile();
    expect(examined(second), 'only the move that is new').to.include({
      'chain/confirmed_moves': 1,
      'chain/unknown_transfer': 5,
    });
    const full = await reconcile(true);
    expect(full).to.include({ ok: true });
    expect(examined(full)).to.include({ 'chain/confirmed_moves': 5, 'chain/unknown_transfer': 5 });
  });

  it('tells what is missing, and which transaction took it, in every run', async () => {
    await on.app.deposit(on.player, 5n * SOL);
    const thief = testWallet(randomUUID()).address;
    const taken = await on.app.takeFromTreasury({ to: thief, amount: 2n * SOL, moveId: 'mov_theft' });

    for (const full of [false, false, true]) {
      const found = await reconcile(full);
      expect(found).to.include({ ok: false, code: 'chain/integrity_failed' });
      expect(found.chain.warnings).to.deep.equal([
        { code: 'treasury_shortfall', subject: 'SOL', amount: String(2n * SOL) },
      ]);
      expect(found.chain.discrepancies).to.deep.equal([
        {
          check: 'chain/unknown_transfer',
          subject: taken,
          expected: null,
          actual: { mint: 'native', change: String(-2n * SOL) },
        },
      ]);
      expect(figuresOf(found, 'SOL')).to.include({ ok: false, surplus: String(-2n * SOL) });
    }
    const path = `/portal/app/${on.app.appId}/test/reconcile`;
    const { text } = requireStatus(await on.service.world.client.post(path, {}), 200);
    expect(JSON.parse(text.trim().split('\n').at(-1) ?? '').result, 'without the chain').to.include({
      ok: true,
    });
  });

  it('finds what left, also where the treasury has more than is owed', async () => {
    await on.app.deposit(on.player, 5n * SOL);
    await on.service.node.call('requestAirdrop', [on.app.treasury, 3n * SOL]);
    const to = testWallet(randomUUID()).address;
    const taken = await on.app.takeFromTreasury({ to, amount: SOL, moveId: 'mov_theft' });
    const found = await reconcile();
    expect(figuresOf(found, 'SOL')).to.include({ ok: true, surplus: String(2n * SOL) });
    expect(found.chain.discrepancies.map(({ subject }) => subject)).to.deep.equal([taken]);
    expect(found).to.include({ ok: false });
  });

  it('tells what strangers sent, and takes it for surplus', async () => {
    await on.app.deposit(on.player, 5n * SOL);
    const signature = await on.service.node.call('requestAirdrop', [on.app.treasury, 3n * SOL]);
    await on.service.node.call('requestTokenAirdrop', [on.app.treasury, GEM.mint, '25']);
    await on.app.deposit(on.player, SOL);
    const found = await reconcile();
    expect(found).to.include({ ok: true });
    expect(found.chain.unattributed).to.have.length(2);
    expect(found.chain.unattributed).to.deep.include({
      signature,
      currency: 'SOL',
      amount: String(3n * SOL),
    });
    expect(figuresOf(found, 'SOL')).to.include({ surplus: String(3n * SOL) });
    expect(figuresOf(found, 'GEM')).to.include({ surplus: '25' });
  });

  it('finds a confirmed move that the chain does not know', async () => {
    const { moveId, subject, requested } = forgedMove('forged', 7n * SOL);
    const signature = '5'.repeat(88);
    const { to: slot } = await on.service.rpc.history();
    const confirmed: MoveEvent = { type: 'MoveConfirmed', data: { ...subject, signature, slot } };
    await forge(moveId, 'forged', requested, confirmed);
    const { chain } = await reconcile();
    expect(chain.discrepancies).to.deep.include({
      check: 'chain/confirmed_moves',
      subject: moveId,
      expected: {
        signature,
        from: on.player.address,
        to: on.app.treasury,
        mint: 'native',
        amount: String(7n * SOL),
      },
      actual: null,
    });
    expect(chain.warnings).to.deep.equal([
      { code: 'treasury_shortfall', subject: 'SOL', amount: String(7n * SOL) },
    ]);
  });

  it('finds a confirmed move that names the transaction of another', async () => {
    const ref = await on.app.deposit(on.player, SOL);
    const { signature } = await on.app.ended(ref);
    const { moveId, subject, requested } = forgedMove('again', SOL);
    const confirmed: MoveEvent = {
      type: 'MoveConfirmed',
      data: { ...subject, signature: String(signature), slot: 7n },
    };
    await forge(moveId, 'again', requested, confirmed);
    const { chain } = await reconcile();
    expect(chain.discrepancies.map(({ check, subject: about }) => `${check} ${about}`)).to.deep.equal([
      `chain/confirmed_moves ${moveId}`,
      `chain/unknown_transfer ${signature}`,
    ]);
  });

  it('finds a failed move that did move', async () => {
    await on.app.deposit(on.player, 5n * SOL);
    const { moveId, subject, requested } = forgedMove('failed', SOL, 'withdraw');
    const failed: MoveEvent = {
      type: 'MoveFailed',
      data: { ...subject, code: 'moves/never_landed', signature: null, slot: null },
    };
    const signature = await on.app.takeFromTreasury({ to: on.player.address, amount: SOL, moveId });
    await forge(moveId, 'failed', requested, failed);
    const { chain } = await reconcile();
    expect(chain.discrepancies).to.deep.include({
      check: 'chain/failed_moves',
      subject: moveId,
      expected: null,
      actual: { signature },
    });
  });

  it('finds an amount that was changed in a row, also one that it had found right before', async () => {
    const ref = await on.app.deposit(on.player, 5n * SOL);
    expect(await reconcile()).to.include({ ok: true });
    const { moveId } = treasuryMovePlace('test', on.app.appId, ref);
    const { rowCount } = await on.service.pool.query(
      'update read_v1.moves set amount = amount + 1 where move_id = $1',
      [moveId],
    );
    expect(rowCount).to.equal(1);
    const found = await reconcile();
    expect(found).to.include({ ok: false, code: 'ledger/integrity_failed' });
    expect(found.chain.discrepancies.map(({ check }) => check)).to.deep.equal([
      'chain/confirmed_moves',
      'chain/unknown_transfer',
    ]);
  });

  // Separately: an unbooked deposit would offset what a cash-out has taken.
  for (const kind of ['deposit', 'withdraw'] as const) {
    it(`raises no false alarm while moves go on, each a ${kind}`, async () => {
      const players = [on.player, await on.app.newPlayer(), await on.app.newPlayer()];
      for (const one of players) await on.app.deposit(one, 20n * SOL);
      const loggedBefore = on.service.world.logLines.length;
      const state = { isOver: false, moves: 0 };
      const amount = SOL / 10n;
      let round = Promise.withResolvers<void>();
      const endRound = () => {
        round.resolve();
        round = Promise.withResolvers();
      };
      const moving = Promise.all(
        [...players, ...players].map(async (one) => {
          while (!state.isOver) {
            // One for each comparison: on a slow machine they would have more to compare each time, and funds would run out.
            const { promise: isCompared } = round;
            await on.app.ended(await on.app.requestMove(kind, one, amount));
            state.moves += 1;
            await isCompared;
          }
        }),
      ).finally(() => {
        state.isOver = true;
      });
      // Awaited below.
      moving.catch(() => undefined);
      try {
        for (let made = 0; !state.isOver && (made < 20 || state.moves < 30); made += 1) {
          const { chain } = await reconcile(made % 5 === 4);
          expect(chain, `comparison ${made}`).to.deep.include({ ok: true, warnings: [], discrepancies: [] });
          endRound();
        }
      } finally {
        state.isOver = true;
        endRound();
        await moving;
      }
      const doubts = on.service.world.logLines
        .slice(loggedBefore)
        // Where earlier specs forged the chain's data, the reconciler will notice.
        .filter((line) => line.includes('looking again') && line.includes(on.app.appId));
      expect(doubts, 'not even at first sight').to.deep.equal([]);
      const found = await reconcile(true);
      expect(found).to.include({ ok: true });
      const held = 60n * SOL + (kind === 'deposit' ? 1n : -1n) * BigInt(state.moves) * amount;
      expect(figuresOf(found, 'SOL')).to.include({ inFlight: '0', surplus: '0', onChain: String(held) });
    });
  }

  it('is refused where the environment has no chain', async () => {
    const path = `/portal/app/${on.app.appId}/live/reconcile`;
    const refused = await on.service.world.client.post(path, { chain: true });
    expect(refused).to.deep.include({ status: 503 });
    expect(refused.json).to.include({ code: 'chain/not_configured' });
    requireStatus(await on.service.world.client.post(path, {}), 200);
  });

  it('says that the chain does not answer, which is no discrepancy', async () => {
    await on.app.deposit(on.player, SOL);
    await on.service.stopChain();
    const found = await reconcile();
    expect(found).to.include({ ok: false, code: 'chain/unreachable' });
    expect(found.chain).to.include({ ok: false, code: 'chain/unreachable' });
    expect(found.chain).not.to.have.any.keys('discrepancies', 'currencies');
  });
});
