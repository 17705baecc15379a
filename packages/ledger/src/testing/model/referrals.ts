/** Referrals: who brought whom, what that earns, and what is withdrawn. Each player is attributed at most once. */
import type { Asking, Contents, Owed, PayoutTerms, WithdrawalTerms } from '../operations.ts';
import {
  accountOf,
  add,
  type Commission,
  type Decided,
  type Earnings,
  figures,
  first,
  firstDifference,
  type Ledger,
  type Referrals,
  Refusal,
  type Request,
  replay,
  text,
} from './state.ts';

const MOST = 2n ** 64n - 1n;

export const noReferrals = (): Referrals => ({
  codes: new Map(),
  referrers: new Map(),
  commissions: new Map(),
  earnings: new Map(),
  credited: new Map(),
});

export function code(
  { known, referrals: { codes } }: Ledger,
  { userId, code: asked }: Asking<'code'>,
): Decided {
  requireUser(known, userId);
  const own = codes.get(userId);
  if (own !== undefined) {
    if (!isSameCode(own, asked)) throw new Refusal('referrals/code_already_issued', { code: own });
    return first({ userId, code: own });
  }
  if ([...codes.values()].some((taken) => isSameCode(taken, asked))) {
    throw new Refusal('referrals/code_taken', { code: asked });
  }
  return first({ userId, code: asked }, () => codes.set(userId, asked));
}

export function attribute({ known, referrals }: Ledger, operation: Asking<'attribute'>): Decided {
  const { userId } = operation;
  const { codes, referrers } = referrals;
  requireUser(known, userId);
  const refused = (reason: string, more: object = {}) => first({ attributed: false, reason, ...more });
  const [referrerUserId] = [...codes].find(([, each]) => isSameCode(each, operation.code)) ?? [];
  if (referrerUserId === undefined) return refused('unknown_code');
  if (referrerUserId === userId) return refused('self');
  const before = referrers.get(userId);
  const body = { attributed: true, referrerUserId };
  if (before === referrerUserId) return replay(body);
  if (before !== undefined) return refused('already_attributed', { referrerUserId: before });
  if (chainOf(referrals, referrerUserId, known.users.length).includes(userId)) return refused('cycle');
  return first(body, () => referrers.set(userId, referrerUserId));
}

export function chain({ known, referrals }: Ledger, { userId, depth }: Asking<'chain'>): Decided {
  requireUser(known, userId);
  const above = chainOf(referrals, userId, depth).map((each, index) => ({
    level: index + 1,
    userId: each,
    code: referrals.codes.get(each) ?? null,
  }));
  return first({ userId, chain: above });
}

/** The step of a payout that takes its key. */
export function takeKey({ referrals }: Ledger, terms: PayoutTerms): Decided {
  const { idemKey, userId, currencyId, amount } = terms;
  const request = payoutRequest(terms);
  const seen = keptBefore(referrals, idemKey, request);
  if (seen) return replay({});
  return first({}, () =>
    referrals.commissions.set(idemKey, {
      kind: 'payout',
      userId,
      currencyId,
      request,
      open: new Map([[userId, BigInt(amount)]]),
      amount: BigInt(amount),
      accruals: 1,
      body: undefined,
    }),
  );
}

/** A payout is decided before, and answered with what its accrual leaves. */
export function payout(ledger: Ledger, operation: Asking<'payout'>): Decided {
  const { idemKey, userId, currencyId, amount, sourceUserId } = operation;
  requireUserAndCurrency(ledger, operation);
  const seen = keptBefore(ledger.referrals, idemKey, payoutRequest(operation));
  if (seen?.body) return replay(seen.body);
  if (!seen && sourceUserId !== undefined) requireUser(ledger.known, sourceUserId);
  const earnings = earningsOf(ledger, operation);
  const balance = balanceOf(earnings) + BigInt(amount);
  const body = { idemKey, userId, currency: currencyId, amount, balance: text(balance) };
  return first(body, () => {
    if (!seen) throw new Error('not taught: an accrual of what was never decided');
    takeAccrual(ledger, earnings, seen);
    seen.body = body;
  });
}

export function distribute(ledger: Ledger, operation: Asking<'distribute'>): Decided {
  const { referrals } = ledger;
  const { idemKey, userId, currencyId, levels } = operation;
  requireUserAndCurrency(ledger, operation);
  const amount = BigInt(operation.amount);
  const request: Request = [
    ['operation', 'distribute'],
    ['userId', userId],
    ['currency', String(currencyId)],
    ['amount', operation.amount],
    ['levels', levels.join()],
  ];
  const seen = keptBefore(referrals, idemKey, request);
  if (seen?.body) return replay(seen.body);
  const parts = chainOf(referrals, userId, levels.length).map((above, index) => {
    const bps = levels[index] ?? 0;
    return { level: index + 1, userId: above, bps, amount: (amount * BigInt(bps)) / 10_000n };
  });
  const total = parts.reduce((sum, part) => sum + part.amount, 0n);
  const distributed = parts.map((part) => ({ ...part, amount: text(part.amount) }));
  const body = { idemKey, distributed, remainder: text(amount - total), withheld: [] };
  const open = new Map(parts.filter((part) => part.amount > 0n).map((part) => [part.userId, part.amount]));
  return first(body, () =>
    referrals.commissions.set(idemKey, {
      kind: 'distribution',
      userId,
      currencyId,
      request,
      open,
      amount: total,
      accruals: open.size,
      body,
    }),
  );
}

/** The step of a distribution for one beneficiary. */
export function accrue(ledger: Ledger, operation: Asking<'accrue'>): Decided {
  const seen = ledger.referrals.commissions.get(operation.idemKey);
  const due = seen?.open.get(operation.userId);
  if (!seen || due === undefined) throw new Error('not taught: an accrual that nobody is owed');
  const earnings = earningsOf(ledger, operation);
  const body = { amount: text(due), balance: text(balanceOf(earnings) + due) };
  return first(body, () => takeAccrual(ledger, earnings, seen));
}

/** The step that takes a withdrawal from the earnings, before its key. */
export function setAside(ledger: Ledger, operation: WithdrawalTerms): Decided {
  const { idemKey, amount: requested } = operation;
  const earnings = earningsOf(ledger, operation);
  const seen = earnings.withdrawals.get(idemKey);
  const conflict = (field: string) => new Refusal('referrals/idempotency_conflict', { key: idemKey, field });
  if (seen?.isPutBack) throw conflict('operation');
  if (seen && seen.requested !== requested) throw conflict('amount');
  if (seen) return replay({ amount: text(seen.amount), balance: text(seen.balance) });
  const owed = balanceOf(earnings);
  if (owed === 0n || (requested !== undefined && BigInt(requested) > owed)) {
    throw new Refusal('referrals/insufficient_earnings', { balance: text(owed), amount: requested ?? null });
  }
  const amount = requested === undefined ? (owed < MOST ? owed : MOST) : BigInt(requested);
  const balance = owed - amount;
  return first({ amount: text(amount), balance: text(balance) }, () => {
    earnings.withdrawn += amount;
    earnings.withdrawals.set(idemKey, { requested, amount, balance, isPutBack: false });
  });
}

/** The step that gives earnings back whose key is another operation's. */
export function putBack(ledger: Ledger, operation: Asking<'putBack'>): Decided {
  const earnings = earningsOf(ledger, operation);
  const aside = earnings.withdrawals.get(operation.idemKey);
  if (!aside || aside.isPutBack || !isLost(ledger, earnings, operation.idemKey)) {
    throw new Error('not taught: earnings that come back for no reason');
  }
  return first({ amount: text(aside.amount) }, () => {
    aside.isPutBack = true;
    earnings.withdrawn -= aside.amount;
  });
}

/** A withdrawal is set aside before, and credited after. */
export function withdraw(ledger: Ledger, operation: Asking<'withdraw'>): Decided {
  const { referrals } = ledger;
  const { idemKey, userId, currencyId } = operation;
  requireUserAndCurrency(ledger, operation);
  const request = withdrawalRequest(operation);
  const seen = keptBefore(referrals, idemKey, request);
  if (seen?.body) return replay(seen.body);
  const { answer } = setAside(ledger, operation);
  if (!answer.accepted) throw new Error('not taught: a refusal that is answered');
  const body = { idemKey, userId, currency: currencyId, ...answer.body };
  return first(body, () => {
    const aside = earningsOf(ledger, operation).withdrawals.get(idemKey);
    if (!aside) throw new Error('not taught: a withdrawal of what was not set aside');
    const { amount } = aside;
    referrals.commissions.set(idemKey, {
      kind: 'withdrawal',
      userId,
      currencyId,
      request,
      open: new Map([[userId, amount]]),
      amount,
      accruals: 0,
      body,
    });
  });
}

/** The step of a withdrawal that reaches the available funds. */
export function creditEarnings(ledger: Ledger, operation: Asking<'creditEarnings'>): Decided {
  const { idemKey, userId, currency } = operation;
  const seen = ledger.referrals.commissions.get(idemKey);
  const due = seen?.open.get(userId);
  if (
    seen?.kind !== 'withdrawal' ||
    due === undefined ||
    ledger.known.codes?.get(seen.currencyId) !== currency
  ) {
    throw new Error('not taught: a credit of what was not withdrawn');
  }
  const account = accountOf(ledger, operation);
  const { available, held } = account;
  return first({ amount: text(due), ...figures({ available: available + due, held }) }, () => {
    seen.open.delete(userId);
    account.available += due;
    add(ledger.referrals.credited, currency, due);
  });
}

export function earned(ledger: Ledger, operation: Asking<'earned'>): Decided {
  requireUserAndCurrency(ledger, operation);
  const { userId, currencyId } = operation;
  const earnings = earningsOf(ledger, operation);
  const { accrued, withdrawn } = earnings;
  const balance = text(balanceOf(earnings));
  return first({ userId, currency: currencyId, accrued: text(accrued), withdrawn: text(withdrawn), balance });
}

/** What the books owe: all that has accrued and has not reached an account. */
export function referralsOwe({ known, referrals }: Ledger, currency: string): bigint {
  return [...referrals.earnings.values()].reduce(
    (sum, { currencyId, accrued }) => (known.codes?.get(currencyId) === currency ? sum + accrued : sum),
    -(referrals.credited.get(currency) ?? 0n),
  );
}

export function owedReferrals(ledger: Ledger): readonly Owed[] {
  const { commissions, earnings } = ledger.referrals;
  const ofKeys = [...commissions].flatMap(([idemKey, { currencyId, open }]) =>
    [...open.keys()].map((userId) => ({ idemKey, userId, currencyId })),
  );
  const setAsides = [...earnings.values()].flatMap((each) =>
    [...each.withdrawals]
      .filter(([idemKey, { isPutBack }]) => !isPutBack && !isOwn(ledger, each, idemKey))
      .map(([idemKey]) => ({ idemKey, userId: each.userId, currencyId: each.currencyId })),
  );
  return [...ofKeys, ...setAsides].map(({ idemKey, userId, currencyId }) => ({
    sessionId: `commission:${idemKey}`,
    userId,
    currency: ledger.known.codes?.get(currencyId) ?? '',
  }));
}

export const referralContents = ({ referrers, commissions, earnings }: Referrals): Contents['referrals'] => ({
  attributions: [...referrers].map(([userId, referrerUserId]) => ({ userId, referrerUserId })),
  commissions: [...commissions].map(([idemKey, { kind, userId, currencyId, amount, accruals }]) => ({
    idemKey,
    kind,
    userId,
    currencyId,
    amount,
    accruals,
  })),
  earnings: [...earnings.values()]
    // Earnings that were only asked about do not exist.
    .filter(({ accrued }) => accrued > 0n)
    .map(({ userId, currencyId, accrued, withdrawn }) => ({ userId, currencyId, accrued, withdrawn })),
});

const isSameCode = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

function requireUser({ users }: Ledger['known'], userId: string): void {
  if (!users.includes(userId)) throw new Refusal('users/not_found');
}

function requireUserAndCurrency(
  { known }: Ledger,
  { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
): void {
  requireUser(known, userId);
  if (!known.codes?.has(currencyId)) throw new Refusal('referrals/unknown_currency');
}

/** From the direct referrer up. */
function chainOf({ referrers }: Referrals, userId: string, depth: number): readonly string[] {
  const above: string[] = [];
  for (
    let next = referrers.get(userId);
    next !== undefined && above.length < depth;
    next = referrers.get(next)
  ) {
    above.push(next);
  }
  return above;
}

const payoutRequest = (terms: PayoutTerms): Request => [
  ['operation', 'payout'],
  ['userId', terms.userId],
  ['currency', String(terms.currencyId)],
  ['amount', terms.amount],
  ['sourceUserId', terms.sourceUserId],
  ['memo', terms.memo],
];

const withdrawalRequest = (terms: WithdrawalTerms): Request => [
  ['operation', 'withdraw'],
  ['userId', terms.userId],
  ['currency', String(terms.currencyId)],
  ['amount', terms.amount],
];

function keptBefore({ commissions }: Referrals, idemKey: string, request: Request): Commission | undefined {
  const seen = commissions.get(idemKey);
  const field = seen && firstDifference(seen.request, request);
  if (field) throw new Refusal('referrals/idempotency_conflict', { key: idemKey, field });
  return seen;
}

function earningsOf(
  { referrals: { earnings } }: Ledger,
  { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
): Earnings {
  const key = `${userId} ${currencyId}`;
  const own = earnings.get(key) ?? { userId, currencyId, accrued: 0n, withdrawn: 0n, withdrawals: new Map() };
  earnings.set(key, own);
  return own;
}

const balanceOf = ({ accrued, withdrawn }: Earnings): bigint => accrued - withdrawn;

/** The house owes it from now on. */
function takeAccrual({ known, house }: Ledger, earnings: Earnings, { open }: Commission): void {
  const amount = open.get(earnings.userId) ?? 0n;
  earnings.accrued += amount;
  open.delete(earnings.userId);
  add(house, known.codes?.get(earnings.currencyId) ?? '', -amount);
}

/** Whether the key became this user's withdrawal. */
function isOwn({ referrals }: Ledger, { userId, currencyId }: Earnings, idemKey: string): boolean {
  const holder = referrals.commissions.get(idemKey);
  return holder?.kind === 'withdrawal' && holder.userId === userId && holder.currencyId === currencyId;
}

const isLost = (ledger: Ledger, earnings: Earnings, idemKey: string): boolean =>
  ledger.referrals.commissions.has(idemKey) && !isOwn(ledger, earnings, idemKey);
