/** What the model remembers, and the pieces of its decisions. */
import type { Answer, OpenTerms } from '../operations.ts';

/** Everything that an app has in one environment. */
export interface Ledger {
  readonly known: Known;
  /** By player and currency. */
  readonly accounts: Map<string, Account>;
  readonly sessions: Map<string, Session>;
  readonly pools: Map<string, Pool>;
  readonly referrals: Referrals;
  /** By currency: what closed pools have not credited yet, less what they owe to the house. */
  readonly inPools: Map<string, bigint>;
  /** By currency, like the next one. */
  readonly house: Map<string, bigint>;
  /** What the operator has put in, less what the operator has taken out. */
  readonly adjustments: Map<string, bigint>;
}

/** What exists before the first operation. */
export interface Known {
  readonly users: readonly string[];
  readonly currencies: readonly string[];
  /** By id. */
  readonly codes?: ReadonlyMap<number, string>;
}

export interface Account {
  readonly owner: Owner;
  available: bigint;
  held: bigint;
  readonly entries: Map<string, { readonly request: Request; readonly body: object }>;
  /** By session. */
  readonly holds: Map<string, Hold>;
  /** By `<pool>/<bet>`. */
  readonly stakes: Map<string, { readonly amount: bigint; payout: bigint | undefined }>;
}

export interface Owner {
  readonly userId: string;
  readonly currency: string;
}

interface Hold {
  readonly amount: bigint;
  readonly request: Request;
  /** Undefined while it is open. */
  payout: bigint | undefined;
}

export interface Session {
  readonly owner: Owner;
  readonly lockAmount: bigint;
  readonly terms: { readonly gameCode: string; readonly openedAt: string };
  readonly openBody: object;
  readonly openRequest: Request;
  readonly kept: Map<string, { readonly request: Request; readonly body: object }>;
  readonly bets: Map<string, { readonly stake: bigint; won: boolean; rolledBack: boolean }>;
  readonly remembered: Set<string>;
  /** What rollbacks after the settlement give back, by uuid. */
  readonly late: Map<string, { readonly stake: bigint; paid: boolean }>;
  balance: bigint;
  totalWin: bigint;
  settledBody: object | undefined;
  settled: { readonly totalBet: bigint; readonly settledAt: string } | undefined;
}

export interface Pool {
  readonly currencyId: number;
  readonly openedAt: string;
  /** In the order of their locks. */
  readonly stakes: Map<string, Stake>;
  end: SettledEnd | RefundedEnd | undefined;
}

interface SettledEnd {
  readonly status: 'settled';
  readonly rake: bigint;
  /** Those above 0. */
  readonly paid: ReadonlyMap<string, bigint>;
  readonly body: object;
}

interface RefundedEnd {
  readonly status: 'refunded';
  readonly reason: string | undefined;
  readonly body: object;
}

export interface Stake {
  readonly userId: string;
  readonly amount: bigint;
  readonly body: object;
  readonly confirmBy: string;
  status: 'locked' | 'confirmed' | 'released';
  /** Once the pool is closed. */
  credit: bigint | undefined;
}

export interface Referrals {
  /** By player, as given. */
  readonly codes: Map<string, string>;
  /** By player. */
  readonly referrers: Map<string, string>;
  /** By `idemKey`, whichever operation it was. */
  readonly commissions: Map<string, Commission>;
  /** By player and currency. */
  readonly earnings: Map<string, Earnings>;
  /** By currency: what has reached accounts. */
  readonly credited: Map<string, bigint>;
}

export interface Commission {
  readonly kind: 'payout' | 'distribution' | 'withdrawal';
  readonly userId: string;
  readonly currencyId: number;
  readonly request: Request;
  /** What is still to be accrued, by player; of a withdrawal, what is to be credited. */
  readonly open: Map<string, bigint>;
  readonly amount: bigint;
  readonly accruals: number;
  /** Undefined until a payout has accrued. */
  body: object | undefined;
}

export interface Earnings {
  readonly userId: string;
  readonly currencyId: number;
  accrued: bigint;
  withdrawn: bigint;
  /** By `idemKey`. */
  readonly withdrawals: Map<string, SetAside>;
}

interface SetAside {
  readonly requested: string | undefined;
  readonly amount: bigint;
  /** After it. */
  readonly balance: bigint;
  /** Its key was another operation's. */
  isPutBack: boolean;
}

/** What an operation is answered, and its effect; none if it only repeats, reads or is refused. */
export interface Decided {
  readonly answer: Answer;
  readonly take?: () => void;
}

/** What makes a request a repeat: the operation, then its columns in order. */
export type Request = readonly (readonly [field: string, value: string | undefined])[];

export class Refusal extends Error {
  readonly code: string;
  readonly details: object;
  constructor(code: string, details: object = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

export const text = (value: bigint) => value.toString();
export const figures = ({ available, held }: Pick<Account, 'available' | 'held'>) => ({
  available: text(available),
  held: text(held),
});
export const first = (body: object, take?: () => void): Decided => ({
  answer: { accepted: true, body, replayed: false },
  ...(take && { take }),
});
export const replay = (body: object): Decided => ({ answer: { accepted: true, body, replayed: true } });

export function accountOf(ledger: Ledger, { userId, currency }: Owner): Account {
  const key = `${userId} ${currency}`;
  const account = ledger.accounts.get(key) ?? {
    owner: { userId, currency },
    available: 0n,
    held: 0n,
    entries: new Map(),
    holds: new Map(),
    stakes: new Map(),
  };
  ledger.accounts.set(key, account);
  return account;
}

export function sessionOf({ sessions }: Ledger, sessionId: string): Session {
  const session = sessions.get(sessionId);
  if (!session) throw new Refusal('ledger/session_not_found');
  return session;
}

/** Accepted bets less those rolled back. */
export const stakesOf = ({ bets }: Session): bigint =>
  [...bets.values()].reduce((sum, { stake, rolledBack }) => (rolledBack ? sum : sum + stake), 0n);

export const openRequestOf = (operation: OpenTerms): Request => [
  ['operation', 'open'],
  ['userId', operation.userId],
  ['gameCode', operation.gameCode],
  ['currency', operation.currency],
  ['lockAmount', operation.lockAmount],
];

export function add(totals: Map<string, bigint>, currency: string, amount: bigint): void {
  totals.set(currency, (totals.get(currency) ?? 0n) + amount);
}

export function keep(
  session: Session,
  transactionUuid: string,
  request: Request,
  body: object,
  take: () => void,
): Decided {
  return first(body, () => {
    take();
    session.kept.set(transactionUuid, { request, body });
  });
}

export function keptBefore(session: Session, transactionUuid: string, request: Request): Decided | undefined {
  const seen = session.kept.get(transactionUuid);
  if (!seen) return undefined;
  const field = firstDifference(seen.request, request);
  if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
  return replay(seen.body);
}

/** Another operation has other columns, but then the first of them already differs. */
export function firstDifference(kept: Request, request: Request): string | undefined {
  const values = new Map(kept);
  return request.find(([field, value]) => values.get(field) !== value)?.[0];
}

export function refuseSelfReference(operation: {
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
}): void {
  if (operation.transactionUuid === operation.betTransactionUuid) {
    throw new Error('not taught: a write that names itself is refused by its schema');
  }
}
