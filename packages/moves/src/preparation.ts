/** What is looked at before a move is signed, and the transaction that comes of it. */
import { Rejection } from '@coffer/kernel';
import {
  type Address,
  associatedTokenAddress,
  buildTransfer,
  type Chain,
  type ChainAccount,
  decodeMint,
  decodeTokenAccount,
  isSupportedMint,
  type RecentBlockhash,
  SYSTEM_PROGRAM,
  type TokenAccount,
  type TransferMint,
  type UnsignedTransaction,
} from '@coffer/solana';
import type { MoveTerms } from './domain/move.ts';
import type { MoveFailureCode } from './errors.ts';
import type { MovePolicy } from './policy.ts';

/** A reason against the move that is likely to last. Nothing is signed. */
export class MoveRefusal extends Error {
  override readonly name = 'MoveRefusal';
  readonly code: MoveFailureCode;
  constructor(code: MoveFailureCode, reason: string) {
    super(`${code}: ${reason}`);
    this.code = code;
  }
}

/** Passing trouble of ours: someone must look, and the move waits. */
export class PreparationError extends Error {
  override readonly name = 'PreparationError';
}

export interface Prepared {
  readonly unsigned: UnsignedTransaction;
  readonly recent: RecentBlockhash;
}

interface Route {
  readonly mint: 'native' | TransferMint;
  readonly createsAccount: boolean;
  /** What the fee payer pays for the recipient's account. */
  readonly rent: bigint;
  readonly writable: readonly Address[];
}

const SIGNATURE_FEE_LAMPORTS = 5_000n;
const SIGNATURES = 2n;
const MICRO_LAMPORTS = 1_000_000n;
const SIGNATURE_BYTES = 64;
/** Token accounts of the newer program say that their owner cannot change. */
const NEW_TOKEN_ACCOUNT_BYTES = 170;

export async function prepareTransfer(
  chain: Chain,
  terms: MoveTerms,
  feePayer: Address,
  policy: MovePolicy,
): Promise<Prepared> {
  const { from, toAddress: to, amount, moveId } = terms;
  if (to === from.address) throw new MoveRefusal('moves/recipient_refused', 'it is the paying wallet');
  const [payer, source, recipient, mintAccount] = await chain.accounts(
    [feePayer, from.address, to, ...(terms.mint === 'native' ? [] : [terms.mint])],
    'confirmed',
  );
  if (recipient && !isPlainWallet(recipient)) {
    throw new MoveRefusal('moves/recipient_refused', `${to} belongs to a program or holds data`);
  }
  const emptyAccountRent = await chain.rentMinimum(0);
  const route =
    terms.mint === 'native'
      ? nativeRoute(terms, source, recipient, emptyAccountRent)
      : await tokenRoute(chain, terms, mintAccount);
  mustAfford(payer, route.rent, emptyAccountRent, policy);

  const [asked, recent] = await Promise.all([
    chain.recentPriorityFee([feePayer, ...route.writable]),
    chain.latestBlockhash(),
  ]);
  const unsigned = buildTransfer({
    feePayer,
    from: from.address,
    to,
    mint: route.mint,
    amount,
    moveId,
    blockhash: recent.blockhash,
    priority: { unitLimit: policy.unitLimit, microLamports: priceWithin(policy, asked) },
    createsAccount: route.createsAccount,
  });
  await mustSucceed(chain, unsigned);
  return { unsigned, recent };
}

/** Somebody's wallet, as exchanges check it: what a program owns may never come back. */
const isPlainWallet = ({ owner, data, isExecutable }: ChainAccount): boolean =>
  owner === SYSTEM_PROGRAM && data.length === 0 && !isExecutable;

function nativeRoute(
  { from, toAddress, amount }: MoveTerms,
  source: ChainAccount | undefined,
  recipient: ChainAccount | undefined,
  rentMinimum: bigint,
): Route {
  const left = (source?.lamports ?? 0n) - amount;
  if (left < 0n) throw new MoveRefusal('moves/insufficient_source_funds', `${-left} lamports are missing`);
  if (left > 0n && left < rentMinimum) {
    throw new MoveRefusal('moves/below_rent_minimum', `${left} lamports would be left`);
  }
  if ((recipient?.lamports ?? 0n) + amount < rentMinimum) {
    throw new MoveRefusal('moves/below_rent_minimum', 'the recipient would hold too little');
  }
  return { mint: 'native', createsAccount: false, rent: 0n, writable: [from.address, toAddress] };
}

async function tokenRoute(
  chain: Pick<Chain, 'accounts' | 'rentMinimum'>,
  { from, toAddress, amount, decimals }: MoveTerms,
  mintAccount: ChainAccount | undefined,
): Promise<Route> {
  const mint = mintAccount && decodeMint(mintAccount);
  if (!mint || !isSupportedMint(mint) || mint.decimals !== decimals) {
    throw new MoveRefusal('moves/mint_not_supported', 'no mint, other decimals, or an extension');
  }
  const { address, program } = mint;
  const sourceAddress = associatedTokenAddress(from.address, address, program);
  const destinationAddress = associatedTokenAddress(toAddress, address, program);
  const [source, destination] = await chain.accounts([sourceAddress, destinationAddress], 'confirmed');
  mustHold(source && decodeTokenAccount(source), from.address, amount);
  if (destination) mustTake(decodeTokenAccount(destination), toAddress);
  return {
    mint: { address, program, decimals },
    createsAccount: destination === undefined,
    rent: destination === undefined ? await chain.rentMinimum(NEW_TOKEN_ACCOUNT_BYTES) : 0n,
    writable: [sourceAddress, destinationAddress],
  };
}

function mustHold(account: TokenAccount | undefined, owner: Address, amount: bigint): void {
  if (!account || account.owner !== owner || account.amount < amount) {
    throw new MoveRefusal(
      'moves/insufficient_source_funds',
      `of ${amount} there are ${account?.amount ?? 0n}`,
    );
  }
  if (account.isFrozen) throw new MoveRefusal('moves/source_frozen', account.address);
}

function mustTake(account: TokenAccount | undefined, owner: Address): void {
  if (account?.owner === owner && !account.isFrozen) return;
  throw new MoveRefusal('moves/recipient_refused', 'its token account is frozen or not its own');
}

function mustAfford(
  payer: ChainAccount | undefined,
  rent: bigint,
  rentMinimum: bigint,
  policy: Pick<MovePolicy, 'priorityFeeCapLamports' | 'rentAllowanceLamports'>,
): void {
  if (rent > policy.rentAllowanceLamports) {
    throw new PreparationError(`An account costs ${rent} lamports of rent; the allowance is less.`);
  }
  const needed = SIGNATURES * SIGNATURE_FEE_LAMPORTS + policy.priorityFeeCapLamports + rent + rentMinimum;
  const held = payer?.lamports ?? 0n;
  if (held < needed) {
    throw new PreparationError(`The fee payer holds ${held} lamports and needs ${needed}: send it some.`);
  }
}

/** Price times limit is what is paid. */
function priceWithin(
  { priorityFeeCapLamports, unitLimit }: Pick<MovePolicy, 'priorityFeeCapLamports' | 'unitLimit'>,
  asked: bigint,
): bigint {
  // Rounds down: never more than the cap.
  const most = (priorityFeeCapLamports * MICRO_LAMPORTS) / BigInt(unitLimit);
  return asked < most ? asked : most;
}

async function mustSucceed(chain: Pick<Chain, 'simulate'>, unsigned: UnsignedTransaction): Promise<void> {
  const noSignatures = unsigned.signers.map(() => new Uint8Array(SIGNATURE_BYTES));
  const { error, logs } = await chain.simulate(unsigned.withSignatures(noSignatures), []);
  if (error === null) return;
  const reason = [error, ...logs.slice(-3)].join(' | ');
  // Only what the programs themselves refuse, or an account left too poor, says anything about the transfer.
  if (/InstructionError|InsufficientFundsForRent/.test(error))
    throw new MoveRefusal('moves/refused_by_chain', reason);
  throw new PreparationError(`The simulation failed: ${reason}`);
}

/** A refusal of the signer that stays: the wallet was exported, or there is none. */
export const isLastingRefusal = (error: unknown): boolean =>
  error instanceof Rejection &&
  error.code.startsWith('wallets/') &&
  error.code !== 'wallets/keys_unavailable';
