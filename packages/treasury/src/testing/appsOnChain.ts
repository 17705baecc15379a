/** Apps that move money between their players' wallets and their treasury, on their own chain. For specs. */
import { randomUUID } from 'node:crypto';
import { launchDataOf } from '@coffer/auth/testing';
import type { Pool } from '@coffer/database';
import { type Client, requireStatus, type TestApp, textOf } from '@coffer/host/testing';
import { buildTransfer, type OpenChains, signatureOf, type TransferOrder } from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { type MasterKeys, operatorWalletIdOf, type Signer } from '@coffer/wallets';
import {
  appWithGem,
  createSigner,
  GEM,
  LAMPORTS_PER_SOL,
  startTestChain,
  type TestChain,
} from '@coffer/wallets/testing';

/** A transfer is final a few hundredths of a second after it was sent. */
const FAST = { slotMs: 5, finality: { confirmedAfter: 1, finalizedAfter: 3 } } as const;

/** What such a spec needs of the contexts, or of the service. */
export interface StartedOnChain {
  readonly client: Client;
  readonly pool: Pool;
  readonly stop: () => Promise<void>;
}

/** The contexts, or the whole service, as `start` runs them on the chain. */
export async function startAppsOnChain<Started extends StartedOnChain>(
  start: (chains: OpenChains) => Promise<Started>,
  { masterKeys, slotMs = FAST.slotMs }: { readonly masterKeys: MasterKeys; readonly slotMs?: number },
) {
  const chain = await startTestChain({ ...FAST, slotMs });
  const world = await start(chain.chains);
  const signer = createSigner({ pool: world.pool, masterKeys });
  return {
    ...chain,
    world,
    pool: world.pool,
    newApp: () => newApp(world.client, chain, signer),
    async stop() {
      await world.stop();
      await chain.stop();
    },
  };
}

export interface PlayerOnChain {
  readonly userId: string;
  readonly address: string;
}

export interface AppOnChain extends TestApp {
  readonly treasury: string;
  readonly feePayer: string;
  /** With 100 SOL and a million GEM in a wallet. */
  readonly newPlayer: () => Promise<PlayerOnChain>;
  /** Requests it and awaits its end. */
  readonly deposit: (player: PlayerOnChain, amount: bigint, currency?: number) => Promise<string>;
  readonly cashOut: (player: PlayerOnChain, amount: bigint, currency?: number) => Promise<string>;
  readonly requestMove: (
    kind: 'deposit' | 'withdraw',
    player: PlayerOnChain,
    amount: bigint,
    currency?: number,
  ) => Promise<string>;
  readonly ended: (ref: string) => Promise<Readonly<Record<string, unknown>>>;
  /**
   * Money leaves the treasury by means of its own key, with no move in the log. Final when it returns the signature.
   */
  readonly takeFromTreasury: (order: StolenOrder) => Promise<string>;
}

type StolenOrder = Pick<TransferOrder, 'to' | 'amount' | 'moveId'>;

let people = 0;

async function newApp(client: Client, chain: TestChain, signer: Signer): Promise<AppOnChain> {
  const { node, rpc, fund } = chain;
  const app = await appWithGem(client);
  const { test, appId } = app;
  const { json } = requireStatus(await client.get(`/portal/app/${appId}/test/wallets`), 200);
  const addressOf = (role: string) => {
    const found = (json.items as readonly { role: string; address: string }[]).find(
      (item) => item.role === role,
    );
    if (!found) throw new Error(`The app has no ${role}.`);
    return found.address;
  };
  const [treasury, feePayer] = [addressOf('treasury'), addressOf('feePayer')];
  await fund(feePayer, 10n * LAMPORTS_PER_SOL);

  async function newPlayer(): Promise<PlayerOnChain> {
    people += 1;
    const initData = launchDataOf({ id: 5_000_000 + people, username: `player${people}` });
    const answer = await client.post('/auth/messenger/verify', { initData }, { key: test.publishableKey });
    const token = textOf(requireStatus(answer, 200), 'accessToken');
    const wallet = requireStatus(await client.get('/wallets/me', { key: token }), 200);
    const address = textOf(wallet, 'address');
    await fund(address, 100n * LAMPORTS_PER_SOL);
    await node.call('requestTokenAirdrop', [address, GEM.mint, '1000000']);
    await eventually(`${address} has tokens`, async () =>
      (await rpc.tokenAccountsOf(address, 'finalized')).length > 0 ? true : undefined,
    );
    return { userId: textOf(wallet, 'userId'), address };
  }

  const requestMove: AppOnChain['requestMove'] = async (kind, { userId }, amount, currency = 1) => {
    const ref = randomUUID();
    const body = { userId, currency, amount: amount.toString(), ref };
    requireStatus(await test.post(`/treasury/${kind}`, body), kind === 'deposit' ? 201 : 200);
    return ref;
  };
  const ended: AppOnChain['ended'] = (ref) =>
    eventually(`${ref} is at its end`, async () => {
      const { json: move } = requireStatus(await test.post('/treasury/status', { ref }), 200);
      return move.status === 'confirmed' || move.status === 'failed' ? move : undefined;
    });
  const confirmed = async (ref: string) => {
    const { status, error } = await ended(ref);
    if (status !== 'confirmed') throw new Error(`${ref} is ${status}: ${JSON.stringify(error)}`);
    return ref;
  };

  return {
    ...app,
    treasury,
    feePayer,
    newPlayer,
    requestMove,
    ended,
    deposit: async (...of) => confirmed(await requestMove('deposit', ...of)),
    cashOut: async (...of) => confirmed(await requestMove('withdraw', ...of)),
    takeFromTreasury: (order) => takeFromTreasury(signer, chain, app, { treasury, feePayer }, order),
  };
}

async function takeFromTreasury(
  signer: Signer,
  { rpc }: TestChain,
  { appId, test: { environment } }: TestApp,
  { treasury, feePayer }: { readonly treasury: string; readonly feePayer: string },
  order: StolenOrder,
): Promise<string> {
  const { blockhash } = await rpc.latestBlockhash();
  const priority = { unitLimit: 100_000, microLamports: 1n };
  const parties = { from: treasury, feePayer, mint: 'native', createsAccount: false } as const;
  const transfer = buildTransfer({ ...order, ...parties, blockhash, priority });
  const signatures: Uint8Array[] = [];
  for (const role of ['feePayer', 'treasury'] as const) {
    const walletId = operatorWalletIdOf({ environment, appId, role });
    const opening = { actor: 'intruder', purpose: 'theft', requestId: 'spec' };
    signatures.push(await signer.sign({ environment, ownerId: appId, walletId }, transfer.message, opening));
  }
  const transaction = transfer.withSignatures(signatures);
  await rpc.send(transaction);
  const signature = signatureOf(transaction);
  await eventually('the theft is final', () => rpc.transaction(signature));
  return signature;
}
