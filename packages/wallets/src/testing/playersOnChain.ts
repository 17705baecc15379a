/**
 * Players with wallets, over HTTP on their own chain, whose slots pass when the spec says so. Requests stay requests
 * until the spec lets a chain worker run.
 */

import { allowSignIn, newWallet } from '@coffer/auth/testing';
import type { Role } from '@coffer/host';
import {
  type Answer,
  type CallOptions,
  type Client,
  type ContextNode,
  type ContextWorld,
  requireStatus,
  setUpApp,
  startContexts,
  type TestApp,
  textOf,
} from '@coffer/host/testing';
import type { Clock } from '@coffer/kernel';
import { createPlayerClient } from '@coffer/sdk';
import { associatedTokenAddress, type Chain, TOKEN_PROGRAM } from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { Keypair, PublicKey, SystemProgram, Transaction, TransactionInstruction } from '@solana/web3.js';
import { GEM, LAMPORTS_PER_SOL, startTestChain, type TestChain } from './testChain.ts';
import { WALLET_CONTEXTS, type WalletsGiven, walletsGiven } from './walletContexts.ts';

const TOKEN_ACCOUNT_BYTES = 165;
/** The time of day of a service with a clock of its own. */
const NOON_MS = Date.parse('2026-05-04T12:00:00.000Z');

export interface PlayersOnChain extends Omit<TestChain, 'stop'> {
  readonly world: ContextWorld<WalletsGiven>;
  readonly app: TestApp;
  readonly clock: Clock;
  readonly settings: (settings: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly newPlayer: () => Promise<Player>;
  /** Lets a chain worker run and slots pass until there is an answer. */
  readonly carriedUntil: <Result>(
    what: string,
    ask: () => Promise<Result | undefined> | Result | undefined,
  ) => Promise<Result>;
  /** Of GEM, or of another mint. */
  readonly tokensOf: (address: string, mint?: string) => Promise<bigint>;
  /** Accounts of the owner in addition to the associated one, each with that much GEM, made by a stranger. */
  readonly giveBeside: (owner: string, ...amounts: readonly bigint[]) => Promise<void>;
  /** Makes seconds pass for the service. */
  readonly passTime: (seconds: number) => void;
  readonly stop: () => Promise<void>;
}

export interface Player {
  readonly userId: string;
  /** The first one. */
  readonly wallet: { readonly id: string; readonly address: string };
  readonly accessToken: () => string;
  /** Again, as the same player. */
  readonly signIn: () => Promise<void>;
  readonly get: (path: string, options?: CallOptions) => Promise<Answer>;
  readonly post: (path: string, body: unknown, options?: CallOptions) => Promise<Answer>;
}

const ROLES: readonly Role[] = ['api', 'projector', 'process-manager'];

export async function startPlayersOnChain({
  roles = ROLES,
}: {
  readonly roles?: readonly Role[];
} = {}): Promise<PlayersOnChain> {
  const chain = await startTestChain();
  const { node, rpc } = chain;
  let nowMs = NOON_MS;
  const clock = () => new Date(nowMs);
  const given = walletsGiven({ chains: chain.chains });
  const world = await startContexts({ contexts: WALLET_CONTEXTS, given, roles, clock });
  const { client } = world;
  const app = await appWithGem(client);

  return {
    ...chain,
    world,
    app,
    clock,
    async tokensOf(address, mint = GEM.mint) {
      const held = await rpc.tokenAccountsOf(address, 'confirmed');
      return held.filter((one) => one.mint === mint).reduce((sum, { amount }) => sum + amount, 0n);
    },
    giveBeside: (owner, ...amounts) => giveBeside(chain, owner, amounts),
    async settings(settings) {
      requireStatus(await client.post(`/portal/app/${app.appId}/settings`, { settings }), 200);
    },
    newPlayer: () => newPlayer(client, app),
    async carriedUntil(what, ask) {
      const worker: ContextNode = await world.startNode({ roles: ['chain-worker'] });
      try {
        return await eventually(what, () => {
          node.advance(1);
          return ask();
        });
      } finally {
        await worker.stop();
      }
    },
    passTime(seconds) {
      nowMs += seconds * 1000;
    },
    async stop() {
      await world.stop();
      await chain.stop();
    },
  };
}

/** Its players can sign in by every method. */
export async function appWithGem(client: Client): Promise<TestApp> {
  const app = await setUpApp(client);
  await allowSignIn(client, app.appId);
  const body = { ...GEM, mint: { test: GEM.mint, live: null } };
  requireStatus(await client.post(`/portal/app/${app.appId}/currencies`, body), 200);
  return app;
}

export async function newPlayer(client: Client, app: TestApp): Promise<Player> {
  const identity = newWallet();
  const { baseUrl } = client;
  const page = createPlayerClient({ baseUrl, publishableKey: app.test.publishableKey });
  let session = await page.signInWithWallet(identity);
  const accessToken = () => session.accessToken;
  const [wallet] = session.user.wallets;
  if (!wallet) throw new Error('A player has a wallet.');
  return {
    userId: session.user.id,
    wallet,
    accessToken,
    async signIn() {
      session = await page.signInWithWallet(identity);
    },
    get: (path, options) => client.get(path, { key: accessToken(), ...options }),
    post: (path, body, options) => client.post(path, body, { key: accessToken(), ...options }),
  };
}

async function giveBeside(
  { node, rpc }: TestChain,
  owner: string,
  amounts: readonly bigint[],
): Promise<void> {
  const { mint } = GEM;
  const stranger = Keypair.generate();
  const from = stranger.publicKey;
  await node.fund(from.toBase58(), LAMPORTS_PER_SOL);
  await node.giveTokens(
    from.toBase58(),
    mint,
    amounts.reduce((sum, amount) => sum + amount, 0n),
  );
  const source = new PublicKey(associatedTokenAddress(from.toBase58(), mint, TOKEN_PROGRAM));
  for (const amount of amounts) {
    const made = Keypair.generate();
    const { blockhash, lastValidBlockHeight } = await rpc.latestBlockhash();
    const transaction = new Transaction({
      feePayer: from,
      blockhash,
      lastValidBlockHeight: Number(lastValidBlockHeight),
    }).add(
      SystemProgram.createAccount({
        fromPubkey: from,
        newAccountPubkey: made.publicKey,
        space: TOKEN_ACCOUNT_BYTES,
        lamports: Number(await rpc.rentMinimum(TOKEN_ACCOUNT_BYTES)),
        programId: new PublicKey(TOKEN_PROGRAM),
      }),
      // InitializeAccount3, and Transfer.
      ofToken([made.publicKey, new PublicKey(mint)], [18, ...new PublicKey(owner).toBytes()]),
      ofToken([source, made.publicKey], [3, Number(amount), 0, 0, 0, 0, 0, 0, 0], from),
    );
    transaction.sign(stranger, made);
    const sent = await rpc.send(transaction.serialize());
    if (sent.outcome !== 'accepted') throw new Error(sent.reason);
    node.finalize();
  }
}

const ofToken = (accounts: readonly PublicKey[], data: readonly number[], signer?: PublicKey) =>
  new TransactionInstruction({
    programId: new PublicKey(TOKEN_PROGRAM),
    keys: [
      ...accounts.map((pubkey) => ({ pubkey, isSigner: false, isWritable: true })),
      ...(signer ? [{ pubkey: signer, isSigner: true, isWritable: false }] : []),
    ],
    data: Buffer.from(data),
  });

/** Polls the withdrawal, and returns it once it has the status. */
export const withdrawalWith =
  (player: Player, moveId: string, status: string) => async (): Promise<Answer['json'] | undefined> => {
    const answer = await player.get(`/wallets/${player.wallet.id}/withdrawals/${moveId}`);
    return requireStatus(answer, 200).json.status === status ? answer.json : undefined;
  };

/** The transaction in base64 that a player's wallet would have to sign to send. The wallet pays the fees. */
export async function unsignedTransfer(
  chain: Chain,
  from: string,
  to: string,
  lamports: bigint,
): Promise<string> {
  const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
  const feePayer = new PublicKey(from);
  const transaction = new Transaction({
    feePayer,
    blockhash,
    lastValidBlockHeight: Number(lastValidBlockHeight),
  });
  transaction.add(SystemProgram.transfer({ fromPubkey: feePayer, toPubkey: new PublicKey(to), lamports }));
  return transaction.serialize({ requireAllSignatures: false }).toString('base64');
}

export const moveIdOf = (answer: Answer): string => textOf(requireStatus(answer, 200), 'moveId');
