/**
 * Transactions that take what nobody meant to give, each built for a wallet in a scene: the rules and the endpoints are
 * tried with the same list.
 */
import {
  AuthorityType,
  createApproveCheckedInstruction,
  createApproveInstruction,
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createInitializeAccount3Instruction,
  createRevokeInstruction,
  createSetAuthorityInstruction,
  getAssociatedTokenAddressSync,
  NATIVE_MINT,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';
import { type Attack, invalid, refused } from './attack.ts';
import { CLAIMABLE } from './claimable.ts';
import { newAddress, RELAY_PROGRAM } from './liteSvmChain.ts';
import {
  batch,
  build,
  changed,
  closableBy,
  createSeeded,
  handOver,
  pay,
  raw,
  relayed,
  seeded,
  sponsored,
  takeTokens,
} from './scene.ts';

/** Refused for players and servers alike, whatever the app allows. */
export const ATTACKS: readonly Attack[] = [
  ...CLAIMABLE,
  {
    name: 'an account handed over',
    build: (scene) => build(scene, [handOver(scene)]),
    verdict: refused('authority_change'),
  },
  {
    name: 'an account handed over inside a batch',
    build: (scene) =>
      build(scene, [batch(createRevokeInstruction(scene.held, scene.wallet), handOver(scene))]),
    verdict: refused('authority_change'),
  },
  {
    name: 'an account handed over inside a batch in a batch',
    build: (scene) => build(scene, [batch(batch(handOver(scene)))]),
    verdict: refused('unknown_instruction'),
    failsAnyway: true,
  },
  {
    name: 'an account handed over by a program that hides it',
    build: (scene) => build(scene, [relayed(handOver(scene))]),
    verdict: refused('account_handed_over'),
    isPlanted: true,
  },
  {
    name: 'an account handed over by a program that hides it in a batch',
    build: (scene) => build(scene, [relayed(batch(handOver(scene)))]),
    verdict: refused('account_handed_over'),
    isPlanted: true,
  },
  {
    name: 'a delegate',
    build: (scene) => build(scene, [createApproveInstruction(scene.held, scene.thief, scene.wallet, 1n)]),
    verdict: refused('approval'),
  },
  {
    name: 'a delegate, checked, in a legacy transaction',
    build: (scene) =>
      build(
        scene,
        [createApproveCheckedInstruction(scene.held, scene.mint, scene.thief, scene.wallet, 1n, 6)],
        { version: 'legacy' },
      ),
    verdict: refused('approval'),
  },
  {
    name: 'a delegate by a program that hides it',
    build: (scene) =>
      build(scene, [relayed(createApproveInstruction(scene.held, scene.thief, scene.wallet, 1n))]),
    verdict: refused('account_handed_over'),
    isPlanted: true,
  },
  {
    name: 'the right to close, by a program that hides it',
    build: (scene) =>
      build(scene, [
        relayed(
          createSetAuthorityInstruction(scene.held, scene.wallet, AuthorityType.CloseAccount, scene.thief),
        ),
      ]),
    verdict: refused('account_handed_over'),
    isPlanted: true,
  },
  {
    name: 'an account closed in favour of another',
    build: (scene) => {
      const empty = scene.chain.giveTokens(scene.wallet, scene.chain.newMint(), 0n);
      return build(scene, [createCloseAccountInstruction(empty, scene.thief, scene.wallet)]);
    },
    verdict: refused('close_to_other'),
    isPlanted: true,
  },
  {
    name: 'an account closed whose rent a sponsor has paid',
    build: (scene) => {
      const mint = scene.chain.newMint();
      const made = getAssociatedTokenAddressSync(mint, scene.wallet, true);
      return build(
        scene,
        [
          createAssociatedTokenAccountIdempotentInstruction(
            scene.sponsor.publicKey,
            made,
            scene.wallet,
            mint,
          ),
          createCloseAccountInstruction(made, scene.wallet, scene.wallet),
        ],
        sponsored(scene),
      );
    },
    verdict: refused('close_sponsored'),
    isPlanted: true,
  },
  {
    name: 'tokens burnt',
    build: (scene) => build(scene, [createBurnInstruction(scene.held, scene.mint, scene.wallet, 5n)]),
    verdict: refused('burn'),
  },
  {
    name: 'the wallet itself given to a program',
    build: (scene) =>
      build(
        scene,
        [SystemProgram.assign({ accountPubkey: scene.wallet, programId: RELAY_PROGRAM })],
        sponsored(scene),
      ),
    verdict: refused('account_assignment'),
  },
  {
    name: 'the wallet itself given to a program, by one that hides it',
    build: (scene) =>
      build(
        scene,
        [relayed(SystemProgram.assign({ accountPubkey: scene.wallet, programId: RELAY_PROGRAM }))],
        sponsored(scene),
      ),
    verdict: refused('wallet_reassigned'),
    isPlanted: true,
  },
  {
    name: 'the wallet itself made to hold data',
    build: (scene) =>
      build(scene, [SystemProgram.allocate({ accountPubkey: scene.wallet, space: 100 })], sponsored(scene)),
    verdict: refused('account_assignment'),
  },
  {
    name: 'the wallet itself, once empty, made an account of a program',
    build: (scene) =>
      build(
        scene,
        [
          pay(scene, scene.thief, 10_000_000_000n),
          SystemProgram.createAccount({
            fromPubkey: scene.sponsor.publicKey,
            newAccountPubkey: scene.wallet,
            lamports: 1_000_000_000,
            space: 0,
            programId: RELAY_PROGRAM,
          }),
        ],
        sponsored(scene),
      ),
    verdict: refused('account_assignment'),
  },
  {
    name: 'a nonce in place of a blockhash',
    build: (scene) =>
      build(scene, [
        SystemProgram.nonceAdvance({ noncePubkey: scene.thief, authorizedPubkey: scene.wallet }),
        pay(scene, scene.thief, 1),
      ]),
    verdict: refused('nonce'),
    failsAnyway: true,
  },
  {
    name: 'lamports of a token account for another',
    build: (scene) => {
      scene.chain.fund(newAddress(), 1n);
      return build(scene, [
        raw(TOKEN_PROGRAM_ID, [scene.held, scene.thief, scene.wallet], scene.wallet, Buffer.of(38)),
      ]);
    },
    verdict: refused('lamports_to_other'),
    isPlanted: true,
  },
  {
    name: 'a transfer signed as one of several',
    build: (scene) =>
      build(scene, [
        raw(
          TOKEN_PROGRAM_ID,
          [scene.held, scene.thiefs, scene.thief, scene.wallet],
          scene.wallet,
          Buffer.of(3, 1, 0, 0, 0, 0, 0, 0, 0),
        ),
      ]),
    verdict: refused('multisig'),
    failsAnyway: true,
  },
  {
    name: 'an instruction with a byte too many',
    build: (scene) => {
      const { programId, keys, data } = takeTokens(scene);
      return build(scene, [
        new TransactionInstruction({ programId, keys, data: Buffer.concat([data, Buffer.of(0)]) }),
      ]);
    },
    verdict: refused('unknown_instruction'),
  },
  {
    name: 'a program given new code',
    build: (scene) =>
      build(scene, [
        raw(
          new PublicKey('BPFLoaderUpgradeab1e11111111111111111111111'),
          [scene.thief, scene.wallet, scene.thief],
          scene.wallet,
          Buffer.of(4, 0, 0, 0),
        ),
      ]),
    verdict: refused('refused_program'),
    failsAnyway: true,
  },
  {
    name: 'a fee that burns what the wallet has',
    build: (scene) =>
      build(scene, [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 1_400_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_000_000_000 }),
        pay(scene, scene.thief, 1),
      ]),
    verdict: refused('priority_fee'),
  },
  {
    name: 'a fee that burns what the wallet has, without a limit of units',
    build: (scene) =>
      build(scene, [
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_000_000_000 }),
        pay(scene, scene.thief, 1),
      ]),
    verdict: refused('priority_fee'),
  },
  {
    name: 'nothing but a fee',
    build: (scene) => build(scene, [ComputeBudgetProgram.setComputeUnitLimit({ units: 1_000 })]),
    verdict: refused('nothing_to_do'),
  },
  {
    name: 'rent for accounts of others',
    build: (scene) =>
      build(
        scene,
        Array.from({ length: 6 }, () => {
          const owner = newAddress();
          return createAssociatedTokenAccountIdempotentInstruction(
            scene.wallet,
            getAssociatedTokenAddressSync(scene.mint, owner, true),
            owner,
            scene.mint,
          );
        }),
      ),
    verdict: refused('rent_of_others'),
  },
  {
    name: 'two signers in addition to the payer',
    build: (scene) => {
      const second = Keypair.generate();
      scene.chain.fund(second.publicKey, 1_000_000_000n);
      return build(
        scene,
        [
          pay(scene, scene.thief, 1),
          SystemProgram.transfer({ fromPubkey: second.publicKey, toPubkey: scene.thief, lamports: 1 }),
        ],
        { payer: scene.sponsor.publicKey, signers: [scene.sponsor, second] },
      );
    },
    verdict: refused('other_signer'),
    isPlanted: true,
  },
  {
    name: 'a payer that has not signed',
    build: (scene) => build(scene, [pay(scene, scene.thief, 1)], { payer: scene.sponsor.publicKey }),
    verdict: refused('fee_payer_signature'),
  },
  {
    name: 'a payer that has signed something else',
    build: (scene) => {
      const wire = build(scene, [pay(scene, scene.thief, 1)], sponsored(scene));
      const other = build(scene, [pay(scene, scene.thief, 2)], sponsored(scene));
      return changed(wire, 1, ...other.slice(1, 65));
    },
    verdict: refused('fee_payer_signature'),
  },
  {
    name: 'a transaction that the wallet need not sign',
    build: (scene) =>
      build(
        scene,
        [
          SystemProgram.transfer({
            fromPubkey: scene.sponsor.publicKey,
            toPubkey: scene.wallet,
            lamports: 1,
          }),
        ],
        sponsored(scene),
      ),
    verdict: refused('wallet_not_signer'),
  },
  {
    name: 'version 1',
    build: (scene) => changed(build(scene, [pay(scene, scene.thief, 1)]), 65, 0x81),
    verdict: invalid('unsupported_version'),
  },
  {
    name: 'an off-chain message',
    build: (scene) => changed(build(scene, [pay(scene, scene.thief, 1)]), 65, 0xff),
    verdict: invalid('unsupported_version'),
  },
  {
    name: 'bytes after the transaction',
    build: (scene) => Uint8Array.from([...build(scene, [pay(scene, scene.thief, 1)]), 0]),
    verdict: invalid('not_canonical'),
  },
  {
    name: 'more than a packet',
    build: () => new Uint8Array(1_233),
    verdict: invalid('size'),
  },
  {
    name: 'the wallet as two signers',
    build: (scene) => {
      const wire = build(scene, [pay(scene, scene.thief, 1)], sponsored(scene));
      // The keys follow two signatures, the version, the header and their number.
      return changed(wire, 1 + 128 + 1 + 3 + 1, ...scene.wallet.toBytes());
    },
    verdict: invalid('duplicate_account'),
  },
  {
    name: 'the wallet, and again from a lookup table',
    build: (scene) => {
      const { wallet, thief } = scene;
      const key = scene.chain.newLookupTable([wallet]);
      const wire = build(scene, [pay(scene, thief, 1)], { tables: [{ key, addresses: [thief] }] });
      return wire;
    },
    verdict: invalid('duplicate_account'),
    isPlanted: true,
  },
  {
    name: 'a lookup table that has been deactivated',
    build: (scene) => {
      const key = scene.chain.newLookupTable([scene.thief], { deactivationSlot: 1n });
      return build(scene, [pay(scene, scene.thief, 1)], { tables: [{ key, addresses: [scene.thief] }] });
    },
    verdict: invalid('lookup_table'),
    isPlanted: true,
  },
  {
    name: 'a lookup table that is not one',
    build: (scene) =>
      build(scene, [pay(scene, scene.thief, 1)], {
        tables: [{ key: scene.held, addresses: [scene.thief] }],
      }),
    verdict: invalid('lookup_table'),
  },
];

/** A program that hides the taking: refused unless the app trusts the program. */
export const HIDDEN_PAYMENTS: readonly Omit<Attack, 'verdict'>[] = [
  {
    name: 'coins taken by a program that hides it',
    build: (scene) => build(scene, [relayed(pay(scene, scene.thief, 1_000_000_000))]),
    isPlanted: true,
  },
  {
    name: 'tokens taken by a program that hides it',
    build: (scene) => build(scene, [relayed(takeTokens(scene))]),
    isPlanted: true,
  },
  {
    name: 'tokens taken by a program that hides it in a batch',
    build: (scene) => build(scene, [relayed(batch(takeTokens(scene)))]),
    isPlanted: true,
  },
  {
    name: 'tokens taken along with a declared payment',
    build: (scene) => build(scene, [takeTokens(scene, 5n), relayed(takeTokens(scene, 6n))]),
    isPlanted: true,
  },
  {
    name: 'coins taken under cover of a payment to itself',
    build: (scene) =>
      build(scene, [
        pay(scene, scene.wallet, 1_000_000_000),
        relayed(pay(scene, scene.thief, 1_000_000_000)),
      ]),
    isPlanted: true,
  },
  {
    name: 'coins in an account made for the wallet, which a program closes in favour of another',
    build: (scene) => {
      const made = seeded(scene, TOKEN_PROGRAM_ID);
      return build(scene, [
        createSeeded(scene, TOKEN_PROGRAM_ID),
        createInitializeAccount3Instruction(made, NATIVE_MINT, scene.wallet),
        relayed(createCloseAccountInstruction(made, scene.thief, scene.wallet)),
      ]);
    },
    isPlanted: true,
  },
  {
    name: 'coins put by a program that hides it into an account of ours that somebody else may close',
    build: (scene) => build(scene, [relayed(pay(scene, closableBy(scene.thief, scene), 1_000_000_000))]),
    isPlanted: true,
  },
  {
    name: 'coins taken in place of the rent of an account',
    build: (scene) => {
      const owner = newAddress();
      const made = getAssociatedTokenAddressSync(scene.mint, owner, true);
      return build(scene, [
        createAssociatedTokenAccountIdempotentInstruction(scene.wallet, made, owner, scene.mint),
        relayed(pay(scene, scene.thief, 2_000_000)),
      ]);
    },
    isPlanted: true,
  },
];
