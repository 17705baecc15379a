/**
 * For specs of players' wallets: the service over HTTP on a chain of its own, whose slots go by when the spec says so.
 * What was requested stays where it is until the spec lets a chain worker run.
 */

import { allowSignIn, newWallet } from '@coffer/auth/testing';
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import type { Role } from '@coffer/host';
import {
  type Answer,
  type CallOptions,
  requireStatus,
  setUpApp,
  type TestApp,
  textOf,
} from '@coffer/host/testing';
import type { Clock } from '@coffer/kernel';
import { createPlayerClient } from '@coffer/sdk';
import {
  associatedTokenAddress,
  type Chain,
  createRpcChain,
  type OpenChains,
  openChains,
  TOKEN_PROGRAM,
} from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { Keypair, PublicKey, SystemProgram, Transaction, TransactionInstruction } from '@solana/web3.js';
import { startNode, startWorld, type World, type WorldOptions } from './world.ts';

/** A currency of the app, whose tokens the faucet of the chain gives away. */
export const GEM = { id: 3, code: 'GEM', decimals: 6, mint: newAddress() } as const;
export const SOL_LAMPORTS = 1_000_000_000n;
const TOKEN_ACCOUNT_BYTES = 165;
const FEES_LAMPORTS = 10n * SOL_LAMPORTS;
/** The time of day of a service with a clock of its own. */
const NOON_MS = Date.parse('2026-05-04T12:00:00.000Z');

/** Of nobody that this installation knows. */
export function newAddress(): string {
  return newWallet().publicKey;
}

export interface PlayerWallets {
  readonly world: World;
  readonly app: TestApp;
  readonly node: ChainWorld;
  readonly chain: Chain;
  /** For another node. */
  readonly chains: OpenChains;
  readonly clock: Clock;
  readonly settings: (settings: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly newPlayer: () => Promise<Player>;
  /** Lets a chain worker run and slots go by until there is an answer. */
  readonly carriedUntil: <Result>(
    what: string,
    ask: () => Promise<Result | undefined> | Result | undefined,
  ) => Promise<Result>;
  readonly lamportsOf: (address: string) => Promise<bigint>;
  /** Of GEM, or of another mint. */
  readonly tokensOf: (address: string, mint?: string) => Promise<bigint>;
  /** So many GEM each in an account of the owner beside the associated one, made by a stranger. */
  readonly giveBeside: (owner: string, ...amounts: readonly bigint[]) => Promise<void>;
  /** Seconds go by for the service. */
  readonly passTime: (seconds: number) => void;
  readonly stop: () => Promise<void>;
}

export interface Player {
  readonly userId: string;
  /** The first one. */
  readonly wallet: { readonly id: string; readonly address: string };
  readonly accessToken: () => string;
  /** Anew, as the same player. */
  readonly signIn: () => Promise<void>;
  readonly get: (path: string, options?: CallOptions) => Promise<Answer>;
  readonly post: (path: string, body: unknown, options?: CallOptions) => Promise<Answer>;
}

const ROLES: readonly Role[] = ['api', 'projector', 'process-manager'];

export async function startPlayerWallets({
  roles = ROLES,
  ...options
}: Pick<WorldOptions, 'roles' | 'environment' | 'wrapStore'> = {}): Promise<PlayerWallets> {
  const node = await startChainWorld();
  const chain = createRpcChain({ urls: [node.url], timeoutMs: 10_000 });
  const chains = openChains(
    { test: undefined, live: undefined },
    {
      url: node.url,
      ensureMint: node.ensureMint,
      async fundFeePayer(address) {
        if ((await lamportsOf(address)) < FEES_LAMPORTS / 2n) await node.fund(address, FEES_LAMPORTS);
      },
    },
  );
  let nowMs = NOON_MS;
  const clock = () => new Date(nowMs);
  const world = await startWorld({ roles, chains, clock, ...options });
  const { client, databaseUrl } = world;
  const app = await setUpApp(client);
  await allowSignIn(client, app.appId);
  const { mint, ...currency } = GEM;
  const currencies = `/portal/app/${app.appId}/currencies`;
  requireStatus(await client.post(currencies, { ...currency, mint: { test: mint, live: null } }), 200);

  async function lamportsOf(address: string): Promise<bigint> {
    const [account] = await chain.accounts([address], 'confirmed');
    return account?.lamports ?? 0n;
  }

  return {
    world,
    app,
    node,
    chain,
    chains,
    clock,
    lamportsOf,
    async tokensOf(address, wanted = mint) {
      const held = await chain.tokenAccountsOf(address, 'confirmed');
      return held.filter((one) => one.mint === wanted).reduce((sum, { amount }) => sum + amount, 0n);
    },
    async giveBeside(owner, ...amounts) {
      const stranger = Keypair.generate();
      const from = stranger.publicKey;
      await node.fund(from.toBase58(), SOL_LAMPORTS);
      await node.giveTokens(
        from.toBase58(),
        mint,
        amounts.reduce((sum, amount) => sum + amount, 0n),
      );
      const source = new PublicKey(associatedTokenAddress(from.toBase58(), mint, TOKEN_PROGRAM));
      for (const amount of amounts) {
        const made = Keypair.generate();
        const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
        const transaction = new Transaction({
          feePayer: from,
          blockhash,
          lastValidBlockHeight: Number(lastValidBlockHeight),
        }).add(
          SystemProgram.createAccount({
            fromPubkey: from,
            newAccountPubkey: made.publicKey,
            space: TOKEN_ACCOUNT_BYTES,
            lamports: Number(await chain.rentMinimum(TOKEN_ACCOUNT_BYTES)),
            programId: new PublicKey(TOKEN_PROGRAM),
          }),
          // InitializeAccount3, and Transfer.
          ofToken([made.publicKey, new PublicKey(mint)], [18, ...new PublicKey(owner).toBytes()]),
          ofToken([source, made.publicKey], [3, Number(amount), 0, 0, 0, 0, 0, 0, 0], from),
        );
        transaction.sign(stranger, made);
        const sent = await chain.send(transaction.serialize());
        if (sent.outcome !== 'accepted') throw new Error(sent.reason);
        node.finalize();
      }
    },
    async settings(settings) {
      requireStatus(await client.post(`/portal/app/${app.appId}/settings`, { settings }), 200);
    },
    async newPlayer() {
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
    },
    async carriedUntil(what, ask) {
      const environment = { COFFER_CHAIN_POLL_MS: '20' };
      const worker = await startNode(databaseUrl, { roles: ['chain-worker'], chains, clock, environment });
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
      await chains.close();
      await chain.close();
      await node.stop();
    },
  };
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

/** Asks until the withdrawal has the status, and answers it. */
export const withdrawalWith =
  (player: Player, moveId: string, status: string) => async (): Promise<Answer['json'] | undefined> => {
    const answer = await player.get(`/wallets/${player.wallet.id}/withdrawals/${moveId}`);
    return requireStatus(answer, 200).json.status === status ? answer.json : undefined;
  };

/** What the wallet of a player would have to sign to send, in base64. The wallet pays the network. */
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

/** The move that a request was answered with. */
export const moveIdOf = (answer: Answer): string => textOf(requireStatus(answer, 200), 'moveId');
