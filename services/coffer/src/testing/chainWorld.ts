/** The service on a chain of its own, in this process, with players who have wallets, and an intruder with keys. */
import { randomUUID } from 'node:crypto';
import { allowSignIn, launchDataOf } from '@coffer/auth/testing';
import { createPool, type Pool } from '@coffer/database';
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import { requireStatus, setUpApp, type TestApp, textOf } from '@coffer/host/testing';
import {
  buildTransfer,
  type Chain,
  createRpcChain,
  openChains,
  signatureOf,
  type TransferOrder,
} from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { createMasterKeys, createSigner, operatorWalletIdOf, parseMasterKeys } from '@coffer/wallets';
import { SPEC_MASTER_KEYS, startWorld, type World, type WorldOptions } from './world.ts';

export const LAMPORTS_PER_SOL = 1_000_000_000n;
/** A token of the chain. */
export const GEM = { id: 3, code: 'GEM', decimals: 6, mint: '7WduLbRfYhTJktjLw5FDEyrqoEv61aTTCuGAetgLjzN5' };

/** As quick as it may be: a transfer is final some hundredth of a second after it was sent. */
const FAST = { slotMs: 5, finality: { confirmedAfter: 1, finalizedAfter: 3 } } as const;

export type ServiceOnChain = Awaited<ReturnType<typeof startServiceOnChain>>;

export async function startServiceOnChain({
  slotMs = FAST.slotMs,
  ...options
}: Pick<WorldOptions, 'environment' | 'roles'> & { readonly slotMs?: number } = {}) {
  const node = await startChainWorld({ ...FAST, slotMs });
  const rpc = createRpcChain({ urls: [node.url], timeoutMs: 5_000 });
  const chains = openChains(
    { test: undefined, live: undefined },
    {
      url: node.url,
      fundFeePayer: (address) => fund(node, rpc, address, 10n * LAMPORTS_PER_SOL),
      ensureMint: node.ensureMint,
    },
  );
  const world = await startWorld({ ...options, chains });
  const pool = createPool({
    connectionString: world.databaseUrl,
    applicationName: 'spec',
    onIdleError() {},
  });
  let isChainThere = true;
  async function stopChain(): Promise<void> {
    if (!isChainThere) return;
    isChainThere = false;
    await node.stop();
  }
  return {
    node,
    rpc,
    world,
    pool,
    fund: (address: string, lamports: bigint) => fund(node, rpc, address, lamports),
    lamportsOf: async (address: string) => (await rpc.accounts([address], 'confirmed'))[0]?.lamports ?? 0n,
    newApp: () => newApp(world, node, rpc, pool),
    stopChain,
    async stop() {
      await pool.end();
      await world.stop();
      await chains.close();
      await rpc.close();
      await stopChain();
    },
  };
}

/** Final when it returns. */
async function fund(node: ChainWorld, rpc: Chain, address: string, lamports: bigint): Promise<void> {
  const held = async () => (await rpc.accounts([address], 'finalized'))[0]?.lamports ?? 0n;
  if ((await held()) >= lamports) return;
  await node.call('requestAirdrop', [address, lamports]);
  await eventually(`${address} has lamports`, async () => ((await held()) >= lamports ? true : undefined));
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
  /** Money leaves the treasury by its own key, with no move in the log. Final when it returns: its signature. */
  readonly takeFromTreasury: (order: Pick<TransferOrder, 'to' | 'amount' | 'moveId'>) => Promise<string>;
}

let people = 0;

async function newApp(world: World, node: ChainWorld, rpc: Chain, pool: Pool): Promise<AppOnChain> {
  const { client } = world;
  const app = await setUpApp(client);
  const { test, appId } = app;
  const { mint } = GEM;
  requireStatus(
    await client.post(`/portal/app/${appId}/currencies`, { ...GEM, mint: { test: mint, live: null } }),
    200,
  );
  await allowSignIn(client, appId);
  const { json } = requireStatus(await client.get(`/portal/app/${appId}/test/wallets`), 200);
  const addressOf = (role: string) => {
    const found = (json.items as readonly { role: string; address: string }[]).find(
      (item) => item.role === role,
    );
    if (!found) throw new Error(`The app has no ${role}.`);
    return found.address;
  };
  const [treasury, feePayer] = [addressOf('treasury'), addressOf('feePayer')];
  await fund(node, rpc, feePayer, 10n * LAMPORTS_PER_SOL);

  async function newPlayer(): Promise<PlayerOnChain> {
    people += 1;
    const initData = launchDataOf({ id: 5_000_000 + people, username: `player${people}` });
    const answer = await client.post('/auth/messenger/verify', { initData }, { key: test.publishableKey });
    const token = textOf(requireStatus(answer, 200), 'accessToken');
    const wallet = requireStatus(await client.get('/wallets/me', { key: token }), 200);
    const address = textOf(wallet, 'address');
    await fund(node, rpc, address, 100n * LAMPORTS_PER_SOL);
    await node.call('requestTokenAirdrop', [address, mint, '1000000']);
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
    takeFromTreasury: (order) => takeFromTreasury(pool, rpc, app, { treasury, feePayer }, order),
  };
}

async function takeFromTreasury(
  pool: Pool,
  rpc: Chain,
  { appId, test: { environment } }: TestApp,
  { treasury, feePayer }: { readonly treasury: string; readonly feePayer: string },
  order: Pick<TransferOrder, 'to' | 'amount' | 'moveId'>,
): Promise<string> {
  const signer = createSigner({ pool, masterKeys: createMasterKeys(parseMasterKeys(SPEC_MASTER_KEYS)) });
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
