/** Transactions that are signed, unlike those of attacks.ts. */
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createCloseAccountInstruction,
  createInitializeAccount3Instruction,
  createInitializeAccountInstruction,
  createTransferCheckedInstruction,
  createTransferInstruction,
  getAssociatedTokenAddressSync,
  NATIVE_MINT,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { ComputeBudgetProgram, TransactionInstruction } from '@solana/web3.js';
import { newAddress } from './liteSvmChain.ts';
import {
  batch,
  build,
  createSeeded,
  type PlantedScene,
  pay,
  seeded,
  sponsored,
  takeTokens,
} from './scene.ts';

export interface Good {
  readonly name: string;
  readonly build: (scene: PlantedScene) => Uint8Array;
  /** All of it stays the wallet's, except the fee for its signatures. */
  readonly keepsValue?: true;
}

export const GOOD: readonly Good[] = [
  { name: 'coins sent', build: (scene) => build(scene, [pay(scene, scene.thief, 1_000)]) },
  {
    name: 'coins sent in a legacy transaction',
    build: (scene) => build(scene, [pay(scene, scene.thief, 1_000)], { version: 'legacy' }),
  },
  {
    name: 'coins sent to a recipient in a lookup table',
    build: (scene) => {
      const addresses = [scene.thief];
      const key = scene.chain.newLookupTable(addresses);
      return build(scene, [pay(scene, scene.thief, 1_000)], { tables: [{ key, addresses }] });
    },
  },
  {
    name: 'tokens sent, in a batch, at a modest price',
    build: (scene) =>
      build(scene, [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 100_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_000_000 }),
        batch(
          takeTokens(scene, 3n),
          createTransferCheckedInstruction(scene.held, scene.mint, scene.thiefs, scene.wallet, 4n, 6),
        ),
      ]),
  },
  {
    name: "tokens sent to a recipient without an account, at a sponsor's cost",
    build: (scene) => {
      const owner = newAddress();
      const made = getAssociatedTokenAddressSync(scene.mint, owner, true);
      return build(
        scene,
        [
          createAssociatedTokenAccountIdempotentInstruction(scene.sponsor.publicKey, made, owner, scene.mint),
          createTransferCheckedInstruction(scene.held, scene.mint, made, scene.wallet, 4n, 6),
        ],
        sponsored(scene),
      );
    },
  },
  {
    name: 'tokens sent to a recipient without an account, at our cost',
    build: (scene) => {
      const owner = newAddress();
      const made = getAssociatedTokenAddressSync(scene.mint, owner, true);
      return build(scene, [
        createAssociatedTokenAccountIdempotentInstruction(scene.wallet, made, owner, scene.mint),
        createTransferCheckedInstruction(scene.held, scene.mint, made, scene.wallet, 4n, 6),
      ]);
    },
  },
  {
    name: 'an empty account closed in our favour',
    keepsValue: true,
    build: (scene) => {
      const empty = scene.chain.giveTokens(scene.wallet, scene.chain.newMint(), 0n);
      return build(scene, [createCloseAccountInstruction(empty, scene.wallet, scene.wallet)]);
    },
  },
  {
    name: 'coins wrapped in a new account of ours',
    keepsValue: true,
    build: (scene) =>
      build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        createInitializeAccountInstruction(seeded(scene, TOKEN_PROGRAM_ID), NATIVE_MINT, scene.wallet),
      ]),
  },
  {
    name: 'coins wrapped and unwrapped',
    keepsValue: true,
    build: (scene) => {
      const made = seeded(scene, TOKEN_PROGRAM_ID);
      return build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        createInitializeAccount3Instruction(made, NATIVE_MINT, scene.wallet),
        createCloseAccountInstruction(made, scene.wallet, scene.wallet),
      ]);
    },
  },
  {
    name: 'a new account, initialized for us in a batch with its first payment',
    keepsValue: true,
    build: (scene) => {
      const made = seeded(scene, TOKEN_PROGRAM_ID);
      return build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        batch(
          createInitializeAccount3Instruction(made, scene.mint, scene.wallet),
          createTransferInstruction(scene.held, made, scene.wallet, 5n),
        ),
      ]);
    },
  },
  {
    name: 'a new account that a sponsor pays for and we own',
    keepsValue: true,
    build: (scene) => {
      const made = seeded(scene, TOKEN_PROGRAM_ID);
      const { keys, programId, data } = createSeeded(scene, TOKEN_PROGRAM_ID);
      // From the sponsor; the wallet is the base, which signs as well.
      const [, created] = keys;
      const base = { pubkey: scene.wallet, isSigner: true, isWritable: false };
      const from = { pubkey: scene.sponsor.publicKey, isSigner: true, isWritable: true };
      if (!created) throw new Error('It makes an account.');
      return build(
        scene,
        [
          new TransactionInstruction({ programId, keys: [from, created, base], data }),
          createInitializeAccount3Instruction(made, scene.mint, scene.wallet),
        ],
        sponsored(scene),
      );
    },
  },
];
