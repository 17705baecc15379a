/**
 * Whether our wallet may sign a transaction, as far as its bytes tell, by positive lists. What it does to our accounts
 * in the end is up to `checkSimulation`. Source: docs/api.md, Wallets; ADR 0021.
 */

import { decodeBase58Address } from '@coffer/kernel';
import {
  type Address,
  type DecodedInstruction,
  decodeInstruction,
  LOADER_PROGRAMS,
  type ResolvedTransaction,
  STAKING_PROGRAMS,
} from '@coffer/solana';
import { verifySignature } from '../ed25519.ts';
import { feeOf } from './fee.ts';
import type { SigningLimits } from './limits.ts';
import type { RefusalReason } from './reasons.ts';
import { type Declared, type Terms, termsOf } from './terms.ts';

export interface InspectionRules {
  /** The wallet that is to sign. */
  readonly wallet: Address;
  /** The signers whose keys we keep: operator wallets, other players' wallets. */
  readonly ownKeys: ReadonlySet<Address>;
  /** The programs that the app lets its server call; undefined if players sign for themselves. */
  readonly programAllowList: ReadonlySet<Address> | undefined;
  readonly limits: SigningLimits;
}

export type Inspection =
  | { readonly outcome: 'accepted'; readonly declared: Declared }
  | { readonly outcome: 'refused'; readonly reasons: readonly RefusalReason[] }
  | { readonly outcome: 'program_not_allowed'; readonly programs: readonly Address[] };

const NEVER_CALLED: ReadonlySet<Address> = new Set([...LOADER_PROGRAMS, ...STAKING_PROGRAMS]);

export function inspect(transaction: ResolvedTransaction, rules: InspectionRules): Inspection {
  const instructions = transaction.instructions.map(({ programId, accounts, data }) =>
    decodeInstruction({ programId, accounts: accounts.map(({ address }) => address), data }),
  );
  const isSponsored = transaction.decoded.staticKeys[0] !== rules.wallet;
  const side = { wallet: rules.wallet, isSponsored };
  const terms = instructions.map((one, index) => termsOf(one, side, instructions.slice(index + 1)));
  const foreignPrograms = programsOf(instructions);
  const fee = feeOf(instructions, transaction.decoded.header.requiredSignatures);

  const reasons: RefusalReason[] = [
    ...signerReasons(transaction, rules),
    ...(instructions.every(({ program }) => program === 'computeBudget') ? (['nothing_to_do'] as const) : []),
    ...terms.flatMap(({ refused }) => refused),
    ...(foreignPrograms.some((program) => NEVER_CALLED.has(program)) ? (['refused_program'] as const) : []),
    ...(fee === undefined ? (['unknown_instruction'] as const) : []),
    ...(fee && !isSponsored && fee.priority > rules.limits.priorityFeeLamports
      ? (['priority_fee'] as const)
      : []),
  ];
  if (reasons.length > 0 || !fee) return { outcome: 'refused', reasons: [...new Set(reasons)] };

  const { programAllowList } = rules;
  const programs = programAllowList
    ? foreignPrograms.filter((program) => !programAllowList.has(program))
    : [];
  if (programs.length > 0) return { outcome: 'program_not_allowed', programs };

  return {
    outcome: 'accepted',
    declared: {
      feeLamports: isSponsored ? 0n : fee.signatures + fee.priority,
      priorityLamports: isSponsored ? 0n : fee.priority,
      lamports: terms.flatMap(({ lamports = [] }: Terms) => lamports),
      tokens: terms.flatMap(({ tokens = [] }: Terms) => tokens),
      rentOf: terms.flatMap(({ rentOf = [] }: Terms) => rentOf),
      foreignPrograms,
    },
  };
}

/**
 * Only our wallet signs, and whoever pays the fee: they must already have signed these very bytes, so that our
 * signature is the last. Another key of ours never pays for what somebody else has put together.
 */
function signerReasons(
  { decoded }: ResolvedTransaction,
  { wallet, ownKeys }: InspectionRules,
): readonly RefusalReason[] {
  const signers = decoded.staticKeys.slice(0, decoded.header.requiredSignatures);
  const [feePayer = '', ...others] = signers;
  const reasons: RefusalReason[] = [];
  if (!signers.includes(wallet)) reasons.push('wallet_not_signer');
  if (others.some((signer) => signer !== wallet)) reasons.push('other_signer');
  if (signers.some((signer) => signer !== wallet && ownKeys.has(signer))) reasons.push('own_key_signer');
  if (feePayer !== wallet) {
    const publicKey = decodeBase58Address(feePayer);
    const signature = decoded.signatures[0];
    const isSigned = publicKey && signature && verifySignature(publicKey, decoded.message, signature);
    if (!isSigned) reasons.push('fee_payer_signature');
  }
  return reasons;
}

const programsOf = (instructions: readonly DecodedInstruction[]): readonly Address[] => [
  ...new Set(instructions.flatMap((one) => (one.program === 'foreign' ? [one.programId] : []))),
];
