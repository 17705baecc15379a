/** A wallet, a thief and a sponsor on a chain, and how transactions between them are built. For specs. */
import { createHash } from 'node:crypto';
import {
  AuthorityType,
  createSetAuthorityInstruction,
  createTransferInstruction,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  AddressLookupTableAccount,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { type LiteSvmChain, newAddress, RELAY_PROGRAM } from './liteSvmChain.ts';

export { Keypair, PublicKey } from '@solana/web3.js';

/** A chain of which only the newest blockhash is known is enough for most transactions. */
export interface Scene<Of extends Pick<LiteSvmChain, 'blockhash'> = Pick<LiteSvmChain, 'blockhash'>> {
  readonly chain: Of;
  readonly wallet: PublicKey;
  readonly mint: PublicKey;
  /** Where the wallet holds the mint's token, and where the thief does. */
  readonly held: PublicKey;
  readonly thief: PublicKey;
  readonly thiefs: PublicKey;
  /** Somebody who pays for others. */
  readonly sponsor: Keypair;
}

/** A scene on a chain where accounts can be planted. */
export type PlantedScene = Scene<LiteSvmChain>;

export function newScene(chain: LiteSvmChain, wallet: PublicKey): PlantedScene {
  const mint = chain.newMint();
  const thief = newAddress();
  const sponsor = Keypair.generate();
  for (const funded of [wallet, thief, sponsor.publicKey]) chain.fund(funded, 10_000_000_000n);
  return {
    chain,
    wallet,
    mint,
    thief,
    sponsor,
    held: chain.giveTokens(wallet, mint, 1_000_000n),
    thiefs: chain.giveTokens(thief, mint, 0n),
  };
}

interface BuildOptions {
  readonly payer?: PublicKey;
  readonly signers?: readonly Keypair[];
  readonly tables?: readonly { readonly key: PublicKey; readonly addresses: PublicKey[] }[];
  readonly version?: 'legacy' | 0;
}

/** Signed only by those given. */
export function build(
  scene: Scene,
  instructions: readonly TransactionInstruction[],
  { payer = scene.wallet, signers = [], tables = [], version = 0 }: BuildOptions = {},
): Uint8Array {
  const message = new TransactionMessage({
    payerKey: payer,
    recentBlockhash: scene.chain.blockhash(),
    instructions: [...instructions],
  });
  const lookups = tables.map(
    ({ key, addresses }) =>
      new AddressLookupTableAccount({
        key,
        state: {
          deactivationSlot: 2n ** 64n - 1n,
          lastExtendedSlot: 0,
          lastExtendedSlotStartIndex: 0,
          addresses,
        },
      }),
  );
  const transaction = new VersionedTransaction(
    version === 'legacy' ? message.compileToLegacyMessage() : message.compileToV0Message(lookups),
  );
  transaction.sign([...signers]);
  return transaction.serialize();
}

/** The same instructions, with a lookup table for everything but the signers and the programs called. */
export function lookedUp(scene: PlantedScene, wire: Uint8Array): Uint8Array {
  const { message } = VersionedTransaction.deserialize(wire);
  const { instructions, payerKey } = TransactionMessage.decompile(message);
  const addresses = [
    ...new Map(
      instructions.flatMap(({ keys }) => keys.map(({ pubkey }) => [pubkey.toBase58(), pubkey] as const)),
    ).values(),
  ];
  const key = scene.chain.newLookupTable(addresses);
  const signers = payerKey.equals(scene.sponsor.publicKey) ? [scene.sponsor] : [];
  return build(scene, instructions, { payer: payerKey, signers, tables: [{ key, addresses }] });
}

export const pay = ({ wallet }: Scene, to: PublicKey, lamports: number | bigint) =>
  SystemProgram.transfer({ fromPubkey: wallet, toPubkey: to, lamports });

/** Where the wallet has an account of the program, by way of the seed. */
export const seeded = ({ wallet }: Scene, program: PublicKey, seed = 'seed'): PublicKey =>
  new PublicKey(
    createHash('sha256').update(wallet.toBytes()).update(seed).update(program.toBytes()).digest(),
  );

/** A whole coin of the wallet put into a new account of the program. */
export const createSeeded = (scene: Scene, programId: PublicKey, space = 165): TransactionInstruction =>
  SystemProgram.createAccountWithSeed({
    fromPubkey: scene.wallet,
    basePubkey: scene.wallet,
    newAccountPubkey: seeded(scene, programId),
    seed: 'seed',
    lamports: 1_000_000_000,
    space,
    programId,
  });

/** The same call, made by a program that hides it. */
export const relayed = ({ programId, keys, data }: TransactionInstruction): TransactionInstruction =>
  new TransactionInstruction({
    programId: RELAY_PROGRAM,
    keys: [{ pubkey: programId, isSigner: false, isWritable: false }, ...keys],
    data,
  });

export const batch = (...parts: readonly TransactionInstruction[]): TransactionInstruction =>
  new TransactionInstruction({
    programId: TOKEN_PROGRAM_ID,
    keys: parts.flatMap(({ keys }) => keys),
    data: Buffer.concat([
      Buffer.of(255),
      ...parts.map(({ keys, data }) => Buffer.concat([Buffer.of(keys.length, data.length), data])),
    ]),
  });

export const sponsored = (scene: Scene) => ({ payer: scene.sponsor.publicKey, signers: [scene.sponsor] });
/**
 * An empty account of the wallet that somebody else may close, keeping its contents: a stranger can make one as a gift.
 */
export const closableBy = (authority: PublicKey, { chain, wallet }: PlantedScene): PublicKey =>
  chain.giveTokens(wallet, chain.newMint(), 0n, TOKEN_PROGRAM_ID, authority);
export const handOver = ({ held, wallet, thief }: Scene) =>
  createSetAuthorityInstruction(held, wallet, AuthorityType.AccountOwner, thief);
export const takeTokens = ({ held, thiefs, wallet }: Scene, amount = 400_000n) =>
  createTransferInstruction(held, thiefs, wallet, amount);
export const changed = (wire: Uint8Array, at: number, ...bytes: readonly number[]): Uint8Array => {
  const copy = Uint8Array.from(wire);
  copy.set(bytes, at);
  return copy;
};
export const raw = (programId: PublicKey, keys: readonly PublicKey[], wallet: PublicKey, data: Buffer) =>
  new TransactionInstruction({
    programId,
    keys: keys.map((pubkey) => ({ pubkey, isSigner: pubkey.equals(wallet), isWritable: true })),
    data,
  });
