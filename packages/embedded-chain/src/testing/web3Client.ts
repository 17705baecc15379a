/** A client on web3.js, as specs use it. */
import {
  type Commitment,
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionInstruction,
} from '@solana/web3.js';
import type { EmbeddedChainOptions } from '../embeddedChain.ts';
import { type ChainWorld, startChainWorld } from './chainWorld.ts';

export const LAMPORTS_PER_SOL = 1_000_000_000n;
export const MEMO_PROGRAM = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

export const connectionTo = (world: { readonly url: string }, commitment: Commitment = 'processed') =>
  new Connection(world.url, { commitment, disableRetryOnRateLimit: true });

/** With that many SOL, which are final. */
export async function fundedKeypair(world: ChainWorld, sol = 10n): Promise<Keypair> {
  const keypair = Keypair.generate();
  await world.fund(keypair.publicKey.toBase58(), sol * LAMPORTS_PER_SOL);
  return keypair;
}

/** A chain, a client of it, and a wallet with 100 SOL. */
export async function startWithAlice(options?: EmbeddedChainOptions) {
  const world = await startChainWorld(options);
  return { world, connection: connectionTo(world), alice: await fundedKeypair(world, 100n) };
}

export const memo = (text: string) =>
  new TransactionInstruction({ programId: MEMO_PROGRAM, keys: [], data: Buffer.from(text) });

export const transfer = (from: PublicKey, to: PublicKey, lamports: bigint) =>
  SystemProgram.transfer({ fromPubkey: from, toPubkey: to, lamports });

/** Signed by all; the first pays. Default: with the newest blockhash. */
export async function signed(
  connection: Connection,
  signers: readonly [Keypair, ...Keypair[]],
  instructions: readonly TransactionInstruction[],
  blockhash?: string,
): Promise<Buffer> {
  const lifetime = blockhash ?? (await connection.getLatestBlockhash('processed')).blockhash;
  const transaction = new Transaction({
    feePayer: signers[0].publicKey,
    blockhash: lifetime,
    lastValidBlockHeight: 0,
  });
  transaction.add(...instructions).sign(...signers);
  return transaction.serialize();
}

export async function statusOf(connection: Connection, signature: string) {
  const { value } = await connection.getSignatureStatuses([signature], { searchTransactionHistory: true });
  return value[0] ?? undefined;
}

/** Ends its socket for good: a connection that has used it would try for ever to restore it. */
export function closeSocket(connection: Connection): void {
  // web3.js offers no way; its socket, a client of rpc-websockets, does.
  const socket: unknown = Reflect.get(connection, '_rpcWebSocket');
  if (typeof socket !== 'object' || socket === null)
    throw new TypeError('web3.js keeps its socket elsewhere');
  const call = (method: string, ...given: readonly unknown[]) =>
    Reflect.apply(Reflect.get(socket, method), socket, given);
  call('setAutoReconnect', false);
  call('close');
}
