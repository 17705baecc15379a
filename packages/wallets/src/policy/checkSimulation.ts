/**
 * Compares what a transaction would do to our accounts with what its instructions declare. Other programs call further
 * instructions that do not show in the bytes; their effects show here.
 */
import {
  type Address,
  type ChainAccount,
  decodeTokenState,
  LOOKUP_TABLE_PROGRAM,
  SYSTEM_PROGRAM,
  type TokenState,
} from '@coffer/solana';
import type { SigningLimits } from './limits.ts';
import type { RefusalReason } from './reasons.ts';
import type { Declared } from './terms.ts';

/** The accounts that the transaction can write to, and our wallet; undefined if there is no such account. */
export type ChainState = ReadonlyMap<Address, ChainAccount | undefined>;

export interface SimulationRules {
  readonly wallet: Address;
  readonly declared: Declared;
  readonly limits: SigningLimits;
  /** Whether it calls programs that the app trusts: these may take what no instruction declares. */
  readonly trustsForeignPrograms: boolean;
}

export function checkSimulation(
  before: ChainState,
  after: ChainState,
  rules: SimulationRules,
): readonly RefusalReason[] {
  const was = heldIn(before, rules.wallet);
  const held: Held = { before: was, after: heldIn(after, rules.wallet, was) };
  const rent = rentOfOthers(before, after, held, rules.declared.rentOf);

  const reasons: RefusalReason[] = [];
  if (isReassigned(before.get(rules.wallet), after.get(rules.wallet))) reasons.push('wallet_reassigned');
  if (isAnyHandedOver(before, after, was)) reasons.push('account_handed_over');
  if (rent > rules.limits.rentOfOthersLamports) reasons.push('rent_of_others');
  if (!rules.trustsForeignPrograms && !isExplained(before, after, held, rent, rules)) {
    reasons.push('unexplained_outflow');
  }
  return reasons;
}

/**
 * Whether anything leaves the wallet: what the instructions send to others, even if as much comes back, the rent of
 * their accounts, and the priority fee. The fee for signatures alone does not count. A program that we cannot read has
 * the wallet's signature for any call and can behave differently than in the simulation: calling one counts as letting
 * go.
 */
export function movesValueOut(
  before: ChainState,
  after: ChainState,
  { wallet, declared }: Pick<SimulationRules, 'wallet' | 'declared'>,
): boolean {
  const was = heldIn(before, wallet);
  const held: Held = { before: was, after: heldIn(after, wallet, was) };
  const isSent = ({ to, amount }: { readonly to: Address; readonly amount: bigint }) =>
    amount > 0n && to !== wallet && !isOurs(held, to);
  return (
    declared.foreignPrograms.length > 0 ||
    declared.priorityLamports > 0n ||
    rentOfOthers(before, after, held, declared.rentOf) > 0n ||
    declared.lamports.some(({ to, lamports }) => isSent({ to, amount: lamports })) ||
    declared.tokens.some(({ destination, amount }) => isSent({ to: destination, amount }))
  );
}

type HeldAccounts = ReadonlyMap<Address, TokenState>;
interface Held {
  readonly before: HeldAccounts;
  readonly after: HeldAccounts;
}

/** Somebody else may take from it: its tokens or, by closing it, all its lamports. */
const isShared = ({ delegate, closeAuthority }: TokenState): boolean =>
  delegate !== null || closeAuthority !== null;

/** The token accounts of our wallet. One that was not ours before counts only if it is not shared. */
function heldIn(state: ChainState, wallet: Address, earlier?: HeldAccounts): HeldAccounts {
  const held = new Map<Address, TokenState>();
  for (const [address, account] of state) {
    const token = account && decodeTokenState(account);
    if (token?.owner !== wallet) continue;
    if (!earlier || earlier.has(address) || !isShared(token)) held.set(address, token);
  }
  return held;
}

/** A wallet is an account of the system program without data, or does not exist at all. */
const isReassigned = (before: ChainAccount | undefined, after: ChainAccount | undefined): boolean =>
  after !== undefined &&
  (after.owner !== (before?.owner ?? SYSTEM_PROGRAM) || after.data.length !== (before?.data.length ?? 0));

function isAnyHandedOver(before: ChainState, after: ChainState, held: HeldAccounts): boolean {
  return [...held].some(([address, was]) => {
    const account = after.get(address);
    // Closed: the sums show where its lamports went.
    if (!account || account.lamports === 0n) return false;
    const is = decodeTokenState(account);
    return !is || account.owner !== before.get(address)?.owner || !isAsOurs(was, is);
  });
}

const isAsOurs = (was: TokenState, is: TokenState): boolean =>
  is.owner === was.owner &&
  is.mint === was.mint &&
  is.closeAuthority === was.closeAuthority &&
  (is.delegate === null || (is.delegate === was.delegate && is.delegatedAmount <= was.delegatedAmount));

/** What went into others' accounts that an instruction says to make at our wallet's cost. */
function rentOfOthers(before: ChainState, after: ChainState, held: Held, rentOf: readonly Address[]): bigint {
  return sum(
    [...new Set(rentOf)].map((address) => {
      const was = before.get(address);
      const isMade = !was || was.data.length === 0 || was.owner === LOOKUP_TABLE_PROGRAM;
      if (!isMade || isOurs(held, address)) return 0n;
      const gained = (after.get(address)?.lamports ?? 0n) - (was?.lamports ?? 0n);
      return gained > 0n ? gained : 0n;
    }),
  );
}

/**
 * Sums over all that is ours, so that nothing that stays with us counts as spent, and no payment among our accounts
 * hides one to somebody else: only what is declared as going to others' accounts explains a loss. The native currency
 * counts as lamports, wherever it is.
 */
function isExplained(
  before: ChainState,
  after: ChainState,
  held: Held,
  rent: bigint,
  { wallet, declared }: SimulationRules,
): boolean {
  const sent = declared.tokens.flatMap(({ source, destination, amount }) => {
    const token = held.before.get(source) ?? held.after.get(source);
    return token && !isOurs(held, destination) ? [{ ...token, amount }] : [];
  });
  const lost = lamportsBefore(before, wallet, held) - lamportsAfter(before, after, wallet, held);
  const explained =
    declared.feeLamports +
    rent +
    sum(
      declared.lamports
        .filter(({ to }) => to !== wallet && !isOurs(held, to))
        .map(({ lamports }) => lamports),
    ) +
    sum(sent.filter(({ isNative }) => isNative).map(({ amount }) => amount));
  if (lost > explained) return false;

  const mints = new Set(
    [...held.before.values()].filter(({ isNative }) => !isNative).map(({ mint }) => mint),
  );
  return [...mints].every((mint) => {
    const ofMint = (tokens: Iterable<TokenState>, amountOf = ({ amount }: TokenState) => amount) =>
      sum([...tokens].filter((token) => token.mint === mint).map(amountOf));
    const kept = (token: TokenState) =>
      keptIn(token, token.amount, held.before.get(token.address)?.amount ?? 0n);
    return ofMint(held.before.values()) - ofMint(held.after.values(), kept) <= ofMint(sent);
  });
}

/** What goes there stays ours. */
function isOurs(held: Held, address: Address): boolean {
  const token = held.after.get(address) ?? held.before.get(address);
  return token !== undefined && !isShared(token);
}

/** What is put into an account that somebody else may take from is no longer ours. */
const keptIn = (token: TokenState | undefined, is: bigint, was: bigint): bigint =>
  token && isShared(token) && is > was ? was : is;

const lamportsOf = (state: ChainState, address: Address): bigint => state.get(address)?.lamports ?? 0n;

const lamportsBefore = (before: ChainState, wallet: Address, held: Held): bigint =>
  sum([wallet, ...held.before.keys()].map((address) => lamportsOf(before, address)));

const lamportsAfter = (before: ChainState, after: ChainState, wallet: Address, held: Held): bigint =>
  sum(
    [wallet, ...held.after.keys()].map((address) =>
      keptIn(held.after.get(address), lamportsOf(after, address), lamportsOf(before, address)),
    ),
  );

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
