/**
 * Whatever is done to a transaction, it is refused in the documented ways or contains nothing that must not be signed.
 */
import { decodeTransaction, resolveLookups, TransactionFormatError } from '@coffer/solana';
import {
  AuthorityType,
  createApproveInstruction,
  createBurnInstruction,
  createInitializeMultisigInstruction,
  createRevokeInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createTransferInstruction,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  ComputeBudgetProgram,
  Keypair,
  SystemProgram,
  type TransactionInstruction,
  VersionedTransaction,
} from '@solana/web3.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { ATTACKS, HIDDEN_PAYMENTS } from '../../testing/attacks/attacks.ts';
import { GOOD } from '../../testing/attacks/goodTransactions.ts';
import { createLiteSvmChain, RELAY_PROGRAM } from '../../testing/attacks/liteSvmChain.ts';
import { batch, build, createSeeded, newScene, pay } from '../../testing/attacks/scene.ts';
import { inspect } from '../inspect.ts';
import { DEFAULT_SIGNING_LIMITS } from '../limits.ts';

const scene = newScene(createLiteSvmChain(), Keypair.generate().publicKey);
const { wallet, held, thief, thiefs, mint } = scene;

async function outcomeOf(wire: Uint8Array): Promise<string> {
  try {
    const transaction = await resolveLookups(scene.chain, decodeTransaction(wire));
    return inspect(transaction, {
      wallet: wallet.toBase58(),
      ownKeys: new Set(),
      programAllowList: new Set([RELAY_PROGRAM.toBase58()]),
      limits: DEFAULT_SIGNING_LIMITS,
    }).outcome;
  } catch (error) {
    if (error instanceof TransactionFormatError) return 'invalid';
    throw error;
  }
}

const OUTCOMES = ['accepted', 'refused', 'program_not_allowed', 'invalid'];
const TOKENS = [TOKEN_PROGRAM_ID.toBase58(), TOKEN_2022_PROGRAM_ID.toBase58()];
/** By their first byte: approvals, authorities, burning, multisigs, minting, freezing. */
const DENIED_TOKEN = new Set([0, 2, 4, 6, 7, 8, 10, 11, 13, 14, 15, 19, 20]);
const ALLOWED_SYSTEM = new Set([2]);
/** What gives an account of the token programs an owner. */
const INITIALIZING = [1, 16, 18];

/** Independent of the decoders: reads first bytes only, and those inside a batch. */
function holdsDenied(wire: Uint8Array): boolean {
  const { message } = VersionedTransaction.deserialize(wire);
  const programOf = (index: number) => message.staticAccountKeys[index]?.toBase58() ?? '';
  const isInitializing = message.compiledInstructions.some(
    ({ programIdIndex, data }) =>
      TOKENS.includes(programOf(programIdIndex)) &&
      firstBytes(Buffer.from(data)).some((tag) => INITIALIZING.includes(tag)),
  );
  return message.compiledInstructions.some(({ programIdIndex, data }) => {
    const program = programOf(programIdIndex);
    if (TOKENS.includes(program)) return firstBytes(Buffer.from(data)).some((tag) => DENIED_TOKEN.has(tag));
    if (program !== SystemProgram.programId.toBase58()) return false;
    return data[0] === 3 ? !isInitializing : !ALLOWED_SYSTEM.has(data[0] ?? -1);
  });
}

function firstBytes(data: Buffer): number[] {
  if (data[0] !== 255) return [data[0] ?? -1];
  const tags: number[] = [];
  for (let at = 1; at + 2 < data.length; at += 2 + (data[at + 1] ?? 0)) tags.push(data[at + 2] ?? -1);
  return tags;
}

const harmless: readonly TransactionInstruction[] = [
  pay(scene, thief, 5),
  createTransferInstruction(held, thiefs, wallet, 5n),
  createRevokeInstruction(held, wallet),
  createSyncNativeInstruction(held),
  ComputeBudgetProgram.requestHeapFrame({ bytes: 65_536 }),
];
const denied: readonly TransactionInstruction[] = [
  ...[TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID].flatMap((program) => [
    createSetAuthorityInstruction(held, wallet, AuthorityType.AccountOwner, thief, [], program),
    createSetAuthorityInstruction(held, wallet, AuthorityType.CloseAccount, null, [], program),
    createApproveInstruction(held, thief, wallet, 1n, [], program),
    createBurnInstruction(held, mint, wallet, 1n, [], program),
    createInitializeMultisigInstruction(held, [wallet, thief], 1, program),
  ]),
  SystemProgram.assign({ accountPubkey: wallet, programId: thief }),
  SystemProgram.allocate({ accountPubkey: wallet, space: 1 }),
  createSeeded(scene, TOKEN_PROGRAM_ID),
  createSeeded(scene, TOKEN_2022_PROGRAM_ID),
  SystemProgram.nonceAdvance({ noncePubkey: thief, authorizedPubkey: wallet }),
];
const ofToken = ({ programId }: TransactionInstruction) => programId.equals(TOKEN_PROGRAM_ID);

describe('a transaction', () => {
  const valid = [...GOOD, ...ATTACKS, ...HIDDEN_PAYMENTS]
    .map((one) => one.build(scene))
    .filter((wire) => wire.length <= 1_232);

  it('with bytes altered, added or missing is refused as documented, or holds nothing denied', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...valid),
        fc.array(fc.record({ at: fc.nat(), remove: fc.nat(2), insert: fc.uint8Array({ maxLength: 2 }) }), {
          maxLength: 3,
        }),
        async (wire, changes) => {
          let changed = [...wire];
          for (const { at, remove, insert } of changes) {
            changed = changed.toSpliced(at % (changed.length + 1), remove, ...insert);
          }
          const bytes = Uint8Array.from(changed);
          const outcome = await outcomeOf(bytes);
          expect(OUTCOMES).to.include(outcome);
          if (outcome !== 'accepted') return;
          accepted += 1;
          expect(holdsDenied(bytes)).to.equal(false);
        },
      ),
      { numRuns: 2_000 },
    );
    expect(accepted).to.be.greaterThan(0);
  });

  it('with one denied instruction, wherever it stands, alone or in a batch, is refused', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...harmless), { minLength: 1, maxLength: 4 }),
        fc.option(fc.constantFrom(...denied)),
        fc.nat(),
        fc.constantFrom('legacy' as const, 0 as const),
        async (others, bad, place, version) => {
          const plain = bad ? others.toSpliced(place % (others.length + 1), 0, bad) : others;
          const inBatch = plain.filter(ofToken);
          const batched = [
            ...plain.filter((one) => !ofToken(one)),
            ...(inBatch.length > 0 ? [batch(...inBatch)] : []),
          ];
          const onlyBudget = plain.every(({ programId }) => programId.equals(ComputeBudgetProgram.programId));
          for (const instructions of [plain, batched]) {
            const wire = build(scene, instructions, { version });
            const outcome = await outcomeOf(wire);
            expect(outcome).to.equal(bad || onlyBudget ? 'refused' : 'accepted');
            if (bad) expect(holdsDenied(wire)).to.equal(true);
          }
        },
      ),
      { numRuns: 300 },
    ));
});
