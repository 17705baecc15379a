/**
 * A service that dies between the steps of a move and the wallet that admits it: the move continues, and the wallet can
 * be exported once it has ended, and not before. Source: docs/adr/0026-admitted-moves.md.
 */
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import { type Answer, requireStatus, textOf, verdict } from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { eventually } from '@coffer/testing';
import { newAddress } from '@coffer/wallets/testing';
import { expect } from 'chai';
import { clientOf, newcomers, pageAt, useMortalNodes } from './testing/mortalNodes.ts';
import type { ServiceProcess } from './testing/serviceProcess.ts';

const SOL = 1_000_000_000n;
/** Of the apps of the specs. */
const CHIP = { address: 'Chip111111111111111111111111111111111111111', decimals: 6 };
const FAST = { slotMs: 20, finality: { confirmedAfter: 1, finalizedAfter: 3 } } as const;

describe('a service that dies with a move that a wallet has admitted', () => {
  const nodes = useMortalNodes();
  let chain: ChainWorld;
  let node: ServiceProcess;
  const start = (roles: Parameters<typeof nodes.start>[0], failPoint?: FailPointName) =>
    nodes.start(roles, failPoint, {
      variables: { SOLANA_TEST_RPC_URL: chain.url, COFFER_CHAIN_POLL_MS: '50' },
    });
  before(async () => {
    chain = await startChainWorld({ ...FAST, mints: [CHIP] });
    node = await start(['api', 'projector']);
  });
  after(() => chain.stop());

  async function fund(address: string): Promise<void> {
    await chain.call('requestAirdrop', [address, 10n * SOL]);
    await eventually(`${address} has lamports`, async () => {
      const found = await chain.call('getBalance', [address, { commitment: 'finalized' }]);
      return Object(found).value > 0 || undefined;
    });
  }

  it('finishes the move, and then gives the key away', async () => {
    const app = await nodes.newApp(node);
    const { accessToken: key, user } = await newcomers.siws()(pageAt(node, app));
    const { id, address } = user.wallets[0] ?? expect.fail();
    const wallets = requireStatus(await clientOf(node).get(`/portal/app/${app.appId}/test/wallets`), 200);
    for (const { address: ofApp } of Object(wallets.json.items)) await fund(ofApp);
    await fund(address);
    const exportIt = () => clientOf(node).post(`/wallets/${id}/export`, { idempotencyKey: 'mine' }, { key });
    const expectRefused = (answer: Answer) => {
      expect(verdict(answer)).to.equal('409 wallets/export_not_allowed');
      expect(answer.json.details).to.deep.equal({ reasons: ['moves_in_flight'], floor: [] });
    };
    const typesOfWallet = async () =>
      (await nodes.events(node, app))
        .filter(({ stream }) => String(stream).endsWith(id))
        .map(({ type }) => type);
    const body = { idempotencyKey: 'out', toAddress: newAddress(), amount: '5000000' };
    const withdraw = (of: ServiceProcess) => clientOf(of).post(`/wallets/${id}/withdraw`, body, { key });

    const doomed = await start(['api'], 'move.admitted');
    expect(
      await withdraw(doomed).then(
        ({ text }) => text,
        () => 'none',
      ),
    ).to.equal('none');
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
    expect(await typesOfWallet()).to.deep.equal(['WalletProvisioned', 'WalletMoveAdmitted']);
    expectRefused(await exportIt());

    // It requests the move, and is killed when it has released the wallet.
    const finisher = await start(['process-manager', 'chain-worker'], 'move.released');
    expect(await finisher.ended).to.include({ signal: 'SIGKILL' });
    expect(await typesOfWallet()).to.deep.equal([
      'WalletProvisioned',
      'WalletMoveAdmitted',
      'WalletMoveReleased',
    ]);
    const again = requireStatus(await withdraw(node), 200);
    expect(again.replayed).to.equal(true);
    const path = `/wallets/${id}/withdrawals/${textOf(again, 'moveId')}`;
    expect((await clientOf(node).get(path, { key })).json.status).to.equal('confirmed');
    requireStatus(await exportIt(), 200);
  });

  it('whichever step it was: nothing keeps the wallet for ever', async () => {
    const app = await nodes.newApp(node);
    const { accessToken: key, user } = await newcomers.siws()(pageAt(node, app));
    const { id, address } = user.wallets[0] ?? expect.fail();
    const wallets = await clientOf(node).get(`/portal/app/${app.appId}/test/wallets`);
    for (const { address: ofApp } of Object(wallets.json.items)) await fund(ofApp);
    await fund(address);
    const deposit = { userId: user.id, currency: 1, amount: '5000000', ref: 'in' };
    const doomed = await start(['api'], 'deposit.requested');
    const lost = clientOf(doomed).post('/treasury/deposit', deposit, { key: app.test.secretKey });
    expect(
      await lost.then(
        ({ text }) => text,
        () => 'none',
      ),
    ).to.equal('none');
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
    // The chain worker is killed as the end of the move is written, before anybody has released the wallet.
    const worker = await start(['chain-worker'], 'move.confirmed');
    expect(await worker.ended).to.include({ signal: 'SIGKILL' });
    const exported = await eventually('the key is given away', async () => {
      const answer = await clientOf(node).post(`/wallets/${id}/export`, { idempotencyKey: 'mine' }, { key });
      return answer.status === 200 ? answer : undefined;
    });
    expect(Object(exported.json.exported)).to.include({ id });
  });
});
