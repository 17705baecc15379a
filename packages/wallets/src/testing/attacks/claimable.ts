/** Attacks with nonces and with accounts that belong to whoever claims them; the list in attacks.ts has them all. */
import {
  createInitializeAccount3Instruction,
  createInitializeImmutableOwnerInstruction,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { NONCE_ACCOUNT_LENGTH, StakeProgram, SystemProgram } from '@solana/web3.js';
import { type Attack, refused } from './attack.ts';
import { newAddress, RELAY_PROGRAM } from './liteSvmChain.ts';
import { build, createSeeded, relayed, seeded } from './scene.ts';

/** Refused for players and servers alike. */
export const CLAIMABLE: readonly Attack[] = [
  {
    name: 'coins in an account of the token program, for whoever initializes it',
    build: (scene) => build(scene, [createSeeded(scene, TOKEN_PROGRAM_ID)]),
    verdict: refused('account_assignment'),
  },
  {
    name: 'coins in an account of the token program that will keep its owner, for whoever initializes it',
    build: (scene) =>
      build(scene, [
        createSeeded(scene, TOKEN_2022_PROGRAM_ID, 170),
        createInitializeImmutableOwnerInstruction(
          seeded(scene, TOKEN_2022_PROGRAM_ID),
          TOKEN_2022_PROGRAM_ID,
        ),
      ]),
    verdict: refused('account_assignment'),
  },
  {
    name: 'coins in an account of the token program, initialized for another',
    build: (scene) => {
      const made = seeded(scene, TOKEN_PROGRAM_ID);
      return build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        createInitializeAccount3Instruction(made, NATIVE_MINT, scene.thief),
      ]);
    },
    verdict: refused('account_assignment'),
  },
  {
    name: 'coins in an account of the token program, initialized for another by a program that hides it',
    build: (scene) => {
      const made = seeded(scene, TOKEN_PROGRAM_ID);
      return build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        relayed(createInitializeAccount3Instruction(made, NATIVE_MINT, scene.thief)),
      ]);
    },
    verdict: refused('account_assignment'),
    isPlanted: true,
  },
  {
    name: 'coins in an account of the token program, next to one that is initialized for the wallet',
    build: (scene) => {
      const other = seeded(scene, TOKEN_PROGRAM_ID, 'other');
      scene.chain.plant(other, 10_000_000n, new Uint8Array(165), TOKEN_PROGRAM_ID);
      return build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        createInitializeAccount3Instruction(other, NATIVE_MINT, scene.wallet),
      ]);
    },
    verdict: refused('account_assignment'),
    isPlanted: true,
  },
  {
    name: 'coins in a stake, for whoever initializes it',
    build: (scene) => build(scene, [createSeeded(scene, StakeProgram.programId, StakeProgram.space)]),
    verdict: refused('account_assignment'),
  },
  {
    name: 'coins in a nonce, for whoever initializes it',
    build: (scene) => build(scene, [createSeeded(scene, SystemProgram.programId, NONCE_ACCOUNT_LENGTH)]),
    verdict: refused('account_assignment'),
  },
  {
    name: 'coins in an account of any program',
    build: (scene) => build(scene, [createSeeded(scene, RELAY_PROGRAM)]),
    verdict: refused('account_assignment'),
  },
  {
    name: 'coins that the wallet keeps by way of a seed, taken',
    build: (scene) => {
      const kept = seeded(scene, SystemProgram.programId);
      scene.chain.fund(kept, 1_000_000_000n);
      return build(scene, [
        SystemProgram.transfer({
          fromPubkey: kept,
          basePubkey: scene.wallet,
          seed: 'seed',
          programId: SystemProgram.programId,
          toPubkey: scene.thief,
          lamports: 1_000_000_000,
        }),
      ]);
    },
    verdict: refused('account_assignment'),
    isPlanted: true,
  },
  {
    name: 'coins that the wallet keeps by way of a seed, given to a program',
    build: (scene) => {
      const kept = seeded(scene, RELAY_PROGRAM);
      scene.chain.fund(kept, 1_000_000_000n);
      return build(scene, [
        SystemProgram.assign({
          accountPubkey: kept,
          basePubkey: scene.wallet,
          seed: 'seed',
          programId: RELAY_PROGRAM,
        }),
      ]);
    },
    verdict: refused('account_assignment'),
    isPlanted: true,
  },
  {
    name: 'coins that the wallet keeps by way of a seed, given to a program with room for data',
    build: (scene) => {
      const kept = seeded(scene, TOKEN_PROGRAM_ID);
      scene.chain.fund(kept, 1_000_000_000n);
      return build(scene, [
        SystemProgram.allocate({
          accountPubkey: kept,
          basePubkey: scene.wallet,
          seed: 'seed',
          space: 165,
          programId: TOKEN_PROGRAM_ID,
        }),
      ]);
    },
    verdict: refused('account_assignment'),
    isPlanted: true,
  },
  {
    name: "nobody's nonce made a thief's own",
    build: (scene) => {
      const nonce = newAddress();
      scene.chain.plant(nonce, 1_000_000_000n, new Uint8Array(NONCE_ACCOUNT_LENGTH), SystemProgram.programId);
      return build(scene, [
        SystemProgram.nonceInitialize({ noncePubkey: nonce, authorizedPubkey: scene.thief }),
      ]);
    },
    verdict: refused('nonce'),
    isPlanted: true,
  },
  {
    name: 'a nonce of the wallet handed over',
    build: (scene) =>
      build(scene, [
        SystemProgram.nonceAuthorize({
          noncePubkey: scene.chain.newNonce(scene.wallet),
          authorizedPubkey: scene.wallet,
          newAuthorizedPubkey: scene.thief,
        }),
      ]),
    verdict: refused('nonce'),
    isPlanted: true,
  },
  {
    name: 'the coins of a nonce of the wallet, for another',
    build: (scene) =>
      build(scene, [
        SystemProgram.nonceWithdraw({
          noncePubkey: scene.chain.newNonce(scene.wallet),
          authorizedPubkey: scene.wallet,
          toPubkey: scene.thief,
          lamports: 500_000_000,
        }),
      ]),
    verdict: refused('nonce'),
    isPlanted: true,
  },
];
