/**
 * Two nodes and more on one log in memory, with real users, accounts and referrals, for specs: what a dead request left is
 * owed until a node does what the reactions do.
 */
import {
  accountEvents,
  createAccounts,
  earningsEntryId,
  parseAccountStream,
  postingsOf,
} from '@coffer/accounts';
import type { Reaction } from '@coffer/consumers';
import { actOnAllOwed } from '@coffer/consumers/testing';
import { createCommandHandler, type EventStore, type RecordedEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { Died } from '@coffer/event-store/testing';
import { type Environment, type FailPoint, newId } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { createUsers } from '@coffer/users';
import { expect } from 'chai';
import { createAttributions } from '../attributions.ts';
import { createChains } from '../chains.ts';
import { createCodes } from '../codes.ts';
import { createCommissions } from '../commissions.ts';
import { type CommissionEvent, commissionEvents } from '../domain/commission.events.ts';
import { accrualsOf, commissionPlaceOf } from '../domain/commission.ts';
import { earningsEvents } from '../domain/earnings.events.ts';
import { balanceOf, type Earnings } from '../domain/earnings.state.ts';
import { earnings, parseEarningsStream } from '../domain/earnings.ts';
import { parseReferralStream, type Referral, referral } from '../domain/referral.ts';
import { referralCode } from '../domain/referralCode.ts';
import { earningsPostings } from '../earnings.postings.ts';
import {
  accruesCommissions,
  finishesAttributions,
  finishesWithdrawals,
  issuesCodes,
} from '../referral.reactions.ts';
import { createWithdrawals } from '../withdrawals.ts';

export const CHIP = 2;

export type ReferralNode = ReturnType<ReturnType<typeof createReferralWorld>['startNode']>;

export function createReferralWorld({
  store = createMemoryEventStore(),
  mayDie = () => false,
}: {
  readonly store?: EventStore;
  /** Called at each fail point. */
  readonly mayDie?: () => boolean;
} = {}) {
  const place = { appId: newId('app'), scopeId: newId('scp'), environment: 'test' as Environment };
  const clock = () => new Date(Date.UTC(2026, 0, 31, 12));
  const context = () => ({ requestId: 'req-1', actor: 'key:1', deadlineMs: patiently() });
  let made = 0;
  const nodes = [startNode(), startNode()] as const;
  const events = async (): Promise<readonly RecordedEvent[]> =>
    (await Array.fromAsync(store.readAll({}))).flat();
  return {
    place,
    store,
    nodes,
    startNode,
    context,
    events,
    async newUser(): Promise<string> {
      const { environment, scopeId, appId } = place;
      return (await nodes[0].users.register({ environment, scopeId, appId }, context())).answer.userId;
    },
    /** Does what the reactions do with everything that the log owes; returns how much that was. */
    finish: async ({ reactions }: { readonly reactions: readonly Reaction[] } = nodes[1]) =>
      actOnAllOwed(await events(), reactions),
    /** Each user's referrals, by user. */
    referrals: async () => referralsIn(await events()),
    requireWhole: async () => requireWhole(await events()),
  };

  function startNode(own: EventStore = store) {
    const handler = createCommandHandler({ store: own });
    const accounts = createAccounts({ handler, store: own });
    const users = createUsers({ handler, store: own, clock });
    const failPoint: FailPoint = (name) => {
      if (mayDie()) throw new Died(name);
    };
    const makeCode = () => `made-${++made}`;
    const codes = createCodes({ handler, store: own, clock, failPoint, makeCode });
    const attributions = createAttributions({
      handler,
      clock,
      failPoint,
      referrerOf: (app, code, requester) => codes.ownerOf(app, code, requester),
    });
    const chains = createChains({ handler, users, clock });
    const { chainOf } = chains;
    const hasCurrency = async (_appId: string, currencyId: number) => currencyId === CHIP;
    const commissions = createCommissions({
      handler,
      store: own,
      clock,
      failPoint,
      users,
      hasCurrency,
      chainOf,
    });
    const withdrawals = createWithdrawals({
      handler,
      store: own,
      clock,
      failPoint,
      accounts,
      users,
      hasCurrency,
      commissions,
    });
    const reactions: readonly Reaction[] = [
      issuesCodes(codes),
      finishesAttributions(attributions),
      accruesCommissions(commissions),
      finishesWithdrawals(withdrawals),
    ];
    return { users, accounts, codes, attributions, chains, commissions, withdrawals, reactions };
  }
}

function referralsIn(log: readonly RecordedEvent[]): ReadonlyMap<string, Referral> {
  const states = new Map<string, Referral>();
  for (const stored of log) {
    const owner = parseReferralStream(stored.stream);
    if (!owner) continue;
    const before = states.get(owner.userId) ?? referral.initialState;
    states.set(owner.userId, referral.evolve(before, referral.codec.decode(stored)));
  }
  return states;
}

/**
 * What must hold once nothing is owed: nobody's chain of referrers comes back, every link is final, each user's code
 * leads to the user and no other claim does, and each commission has reached exactly those whom it names.
 */
function requireWhole(log: readonly RecordedEvent[]): void {
  const referrals = referralsIn(log);
  for (const [userId, { link }] of referrals) {
    if (link) expect(link.status, `the link of ${userId}`).to.equal('attributed');
    requireEnd(referrals, userId);
  }
  requireCodes(log, referrals);
  requireCommissions(log);
}

function requireEnd(referrals: ReadonlyMap<string, Referral>, userId: string): void {
  const met = new Set<string>();
  for (let at: string | undefined = userId; at !== undefined; at = referrals.get(at)?.link?.referrerUserId) {
    expect(met.has(at), `the chain of ${userId} comes back`).to.equal(false);
    met.add(at);
  }
}

function requireCodes(log: readonly RecordedEvent[], referrals: ReadonlyMap<string, Referral>): void {
  const claims = new Map<string, typeof referralCode.initialState>();
  for (const stored of log) {
    if (!stored.stream.startsWith('referralCode-')) continue;
    const before = claims.get(stored.stream) ?? referralCode.initialState;
    claims.set(stored.stream, referralCode.evolve(before, referralCode.codec.decode(stored)));
  }
  const claimed = [...claims.values()].flatMap(({ claim }) =>
    claim ? [`${claim.userId} ${claim.code}`] : [],
  );
  const issued = [...referrals].flatMap(([userId, { code }]) =>
    code === undefined ? [] : [`${userId} ${code}`],
  );
  expect(claimed.toSorted(), 'claims and codes').to.deep.equal(issued.toSorted());
}

function requireCommissions(log: readonly RecordedEvent[]): void {
  const books = new Map<string, bigint>();
  const states = new Map<string, Earnings>();
  const accrued = new Set<string>();
  const due: string[] = [];
  const setAside = new Map<string, bigint>();
  const credited = new Map<string, bigint>();
  const won: CommissionEvent[] = [];
  for (const stored of log) {
    for (const { account, amount } of postingsIn(stored)) {
      books.set(account, (books.get(account) ?? 0n) + amount);
    }
    const owner = parseEarningsStream(stored.stream);
    if (owner) {
      const event = earningsEvents.decode(stored);
      states.set(stored.stream, earnings.evolve(states.get(stored.stream) ?? earnings.initialState, event));
      const { idemKey, amount } = event.data;
      const key = `${owner.userId} ${idemKey}`;
      if (event.type === 'EarningsAccrued') accrued.add(`${key} ${amount}`);
      else if (event.type === 'EarningsWithdrawn') setAside.set(key, amount);
      else setAside.delete(key);
    } else if (stored.stream.startsWith('commission-')) {
      const event = commissionEvents.decode(stored);
      won.push(event);
      const { idemKey } = commissionPlaceOf(stored.stream);
      due.push(...accrualsOf(event).map(({ userId, amount }) => `${userId} ${idemKey} ${amount}`));
    } else if (stored.type === 'AccountCredited') {
      const event = accountEvents.decode(stored);
      const account = parseAccountStream(stored.stream);
      if (event.type !== 'AccountCredited' || event.data.reason !== 'earnings' || !account) continue;
      credited.set(`${account.userId} ${event.data.entryId}`, event.data.amount);
    }
  }
  expect([...accrued].toSorted(), 'accruals').to.deep.equal(due.toSorted());
  const withdrawals = won.filter(({ type }) => type === 'WithdrawalDecided').map(({ data }) => data);
  const byKey = (name: (idemKey: string) => string) =>
    new Map(withdrawals.map(({ userId, idemKey, amount }) => [`${userId} ${name(idemKey)}`, amount]));
  expect(sorted(setAside), 'set aside').to.deep.equal(sorted(byKey((idemKey) => idemKey)));
  expect(sorted(credited), 'credited').to.deep.equal(sorted(byKey(earningsEntryId)));
  const owed = [...states.values()].reduce((sum, state) => sum + balanceOf(state), 0n);
  expect(books.get('referrals') ?? 0n, 'what is owed to players').to.equal(owed);
  expect(
    [...books.values()].reduce((sum, amount) => sum + amount, 0n),
    'the books balance',
  ).to.equal(0n);
}

const sorted = (map: ReadonlyMap<string, bigint>) =>
  [...map].toSorted(([one], [other]) => one.localeCompare(other));

function postingsIn(stored: RecordedEvent): readonly { readonly account: string; readonly amount: bigint }[] {
  if (parseAccountStream(stored.stream)) return postingsOf(accountEvents.decode(stored));
  return earningsPostings(stored)?.postings ?? [];
}
