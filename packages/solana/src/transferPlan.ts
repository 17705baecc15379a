/**
 * Whether a transfer between two wallets would succeed in the chain's present state, and what it takes. Checked before
 * anything is stored, and again before anything is signed: one rule for both.
 */
import type { Address, Chain, ChainAccount, TokenAccount } from './port.ts';
import { SYSTEM_PROGRAM } from './programs/ids.ts';
import { decodeMint, type Mint, mintProblem } from './programs/mint.ts';
import { decodeTokenAccount } from './programs/tokenAccount.ts';
import { newTokenAccountBytes } from './programs/tokenExtensions.ts';
import { associatedTokenAddress, isOnCurve } from './web3/addresses.ts';
import type { TransferMint, TransferSource } from './web3/buildTransfer.ts';

export interface Transfer {
  /** Wallet addresses, even for tokens. */
  readonly from: Address;
  readonly to: Address;
  /** `native` or the address of a mint. */
  readonly mint: string;
  readonly decimals: number;
  readonly amount: bigint;
  /** For tokens: only the associated account may pay. */
  readonly onlyAssociated?: boolean;
}

export type TransferPlan =
  | {
      readonly outcome: 'possible';
      readonly mint: 'native' | TransferMint;
      /** The recipient's token account is missing. */
      readonly createsAccount: boolean;
      /** What creating it costs, beyond the lamports already at its address. */
      readonly rent: bigint;
      /** The accounts between which the funds move: the wallets, or their token accounts. */
      readonly sources: readonly TransferSource[];
      readonly destination: Address;
    }
  /** The most that one transaction could move, without frozen funds. */
  | { readonly outcome: 'insufficientFunds'; readonly available: bigint }
  /** The source or the recipient would hold less than an account's minimum, but not zero. */
  | { readonly outcome: 'belowRentMinimum'; readonly minimum: bigint }
  /** Money sent there might be lost to everybody. */
  | { readonly outcome: 'unacceptableRecipient'; readonly reason: string }
  /** Not a mint, the wrong decimals, or a mint whose issuer could take back, freeze or skim what is sent. */
  | { readonly outcome: 'unsupportedMint'; readonly reason: string }
  | { readonly outcome: 'frozen'; readonly side: 'source' | 'destination'; readonly account: Address };

export type TransferProblem = Exclude<TransferPlan, { outcome: 'possible' }>;

/** The minimum balance of an account without data. */
const NO_DATA = 0;
/** The most source token accounts of one transaction, limited by its bytes and compute units. */
export const MOST_SOURCES = 5;

/** As of commitment `confirmed`. Throws a `ChainUnreachableError`. */
export async function planTransfer(chain: Chain, transfer: Transfer): Promise<TransferPlan> {
  return transfer.mint === 'native' ? planNative(chain, transfer) : planToken(chain, transfer);
}

async function planNative(chain: Chain, { from, to, amount }: Transfer): Promise<TransferPlan> {
  const [[source, recipient], minimum] = await Promise.all([
    chain.accounts([from, to], 'confirmed'),
    chain.rentMinimum(NO_DATA),
  ]);
  const refused = refusalOf({ from, to }, recipient);
  if (refused) return refused;

  const available = source?.lamports ?? 0n;
  if (available < amount) return { outcome: 'insufficientFunds', available };
  const left = available - amount;
  const arrived = (recipient?.lamports ?? 0n) + amount;
  if ((left > 0n && left < minimum) || arrived < minimum) return { outcome: 'belowRentMinimum', minimum };
  const sources = [{ account: from, amount }];
  return { outcome: 'possible', mint: 'native', createsAccount: false, rent: 0n, sources, destination: to };
}

async function planToken(chain: Chain, transfer: Transfer): Promise<TransferPlan> {
  const { from, to, decimals } = transfer;
  const [recipient, mintAccount] = await chain.accounts([to, transfer.mint], 'confirmed');
  const refused = refusalOf({ from, to }, recipient);
  if (refused) return refused;

  const mint = mintAccount && decodeMint(mintAccount);
  const problem = mintProblem(mint, decimals);
  if (!mint || problem !== undefined) return { outcome: 'unsupportedMint', reason: String(problem) };

  const { address, program } = mint;
  const associated = associatedTokenAddress(from, address, program);
  const destination = associatedTokenAddress(to, address, program);
  const [paying, paid] = await chain.accounts([associated, destination], 'confirmed');
  const funds = await fundsOf(chain, transfer, mint, paying && decodeTokenAccount(paying));
  if ('outcome' in funds) return funds;
  const createsAccount = isVacant(paid);
  const reached = paid && decodeTokenAccount(paid);
  if (!createsAccount && reached?.owner !== to) {
    return { outcome: 'unacceptableRecipient', reason: 'Its token account belongs to somebody else.' };
  }
  if (reached?.isFrozen) return { outcome: 'frozen', side: 'destination', account: destination };
  return {
    outcome: 'possible',
    mint: { address, program, decimals },
    createsAccount,
    rent: createsAccount ? await missingRent(chain, program, paid?.lamports ?? 0n) : 0n,
    sources: funds.sources,
    destination,
  };
}

/** Only the associated account if it has enough: most wallets have no other. */
async function fundsOf(
  chain: Chain,
  { from, amount, onlyAssociated = false }: Transfer,
  mint: Mint,
  associated: TokenAccount | undefined,
): Promise<{ readonly sources: readonly TransferSource[] } | TransferProblem> {
  // An associated account can have been transferred to another owner: then its funds are not the wallet's.
  const own = associated?.owner === from ? [associated] : [];
  const isEnough = own.some((one) => !one.isFrozen && one.amount >= amount);
  const held = isEnough || onlyAssociated ? own : await chain.tokenAccountsOf(from, 'confirmed');
  const ofMint = held.filter((one) => one.mint === mint.address && one.owner === from);
  const movable = movableOf(ofMint);
  const available = sumOf(movable);
  if (available >= amount) return { sources: taken(movable, amount) };

  const [frozen] = ofMint.filter((one) => one.isFrozen).sort(largestFirst);
  return frozen && available + frozen.amount >= amount
    ? { outcome: 'frozen', side: 'source', account: frozen.address }
    : { outcome: 'insufficientFunds', available };
}

/** From accounts of one mint, those from which one transaction can move most, largest first. */
export const movableOf = (accounts: readonly TokenAccount[]): readonly TokenAccount[] =>
  accounts
    .filter(({ isFrozen, amount }) => !isFrozen && amount > 0n)
    .sort(largestFirst)
    .slice(0, MOST_SOURCES);

/** The same order for everybody: ties are ordered by address. */
const largestFirst = (one: TokenAccount, other: TokenAccount): number => {
  if (one.amount !== other.amount) return one.amount > other.amount ? -1 : 1;
  return one.address < other.address ? -1 : 1;
};

const sumOf = (accounts: readonly TokenAccount[]): bigint =>
  accounts.reduce((sum, { amount }) => sum + amount, 0n);

function taken(accounts: readonly TokenAccount[], amount: bigint): readonly TransferSource[] {
  let missing = amount;
  return accounts.flatMap(({ address, amount: held }) => {
    const part = held < missing ? held : missing;
    missing -= part;
    return part > 0n ? [{ account: address, amount: part }] : [];
  });
}

/** Anybody can send lamports to an address before its account exists; the account still has to be created. */
const isVacant = (account: ChainAccount | undefined): boolean =>
  account === undefined || (account.owner === SYSTEM_PROGRAM && account.data.length === 0);

async function missingRent(chain: Chain, program: Address, held: bigint): Promise<bigint> {
  const whole = await chain.rentMinimum(newTokenAccountBytes(program));
  return whole > held ? whole - held : 0n;
}

/**
 * Whether the wallet can pay this much and keeps either an account's minimum or nothing. Funding it with
 * enough makes this true: a wallet's balance is always one of the two. As of commitment `confirmed`.
 */
export async function canSpare(chain: Chain, wallet: Address, lamports: bigint): Promise<boolean> {
  const [[account], minimum] = await Promise.all([
    chain.accounts([wallet], 'confirmed'),
    chain.rentMinimum(NO_DATA),
  ]);
  const left = (account?.lamports ?? 0n) - lamports;
  return left === 0n || left >= minimum;
}

function refusalOf(
  { from, to }: Pick<Transfer, 'from' | 'to'>,
  recipient: ChainAccount | undefined,
): TransferProblem | undefined {
  const reason = reasonAgainst({ from, to }, recipient);
  return reason === undefined ? undefined : { outcome: 'unacceptableRecipient', reason };
}

function reasonAgainst(
  { from, to }: Pick<Transfer, 'from' | 'to'>,
  recipient: ChainAccount | undefined,
): string | undefined {
  if (to === from) return 'It is the wallet itself.';
  if (!isOnCurve(to)) return 'Nobody holds its key: it is the address of a program.';
  if (recipient && (recipient.owner !== SYSTEM_PROGRAM || recipient.data.length > 0)) {
    return 'It is not a wallet but the account of a program, such as a token account.';
  }
  return undefined;
}
