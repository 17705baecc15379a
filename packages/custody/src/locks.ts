/**
 * How a stake enters a pool: the player's account reserves the funds, then the stake is locked on that hold. The second
 * event is a pure function of the first, so the request that began it and the process that finishes it after a crash
 * write the same bytes. The pool's stream is the tie-break: a stake that comes too late gets its hold back in full.
 * Source: contract, Custody; ADR 0006.
 */
import assert from 'node:assert/strict';
import { type Accounts, holdOpenedBy, type OpenedHold, stakeHoldId } from '@coffer/accounts';
import {
  afterFirstAppend,
  type CommandHandler,
  causedBy,
  type Outcome,
  type Requester,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import {
  type AppPlace,
  type Clock,
  type Environment,
  type EventMetadata,
  type FailPoint,
  isoTimeOf,
} from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { z } from 'zod';
import { type LockedAnswer, type LostAnswer, lockedAnswer } from './domain/pool.answers.ts';
import type { LockRequest } from './domain/pool.resource.ts';
import type { Pool } from './domain/pool.state.ts';
import { lookForStake, type PoolCommand, pool, type StakeContent } from './domain/pool.ts';
import { reject } from './errors.ts';
import { streamOf } from './poolStreams.ts';

export interface LockDependencies {
  readonly handler: CommandHandler;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly accounts: Pick<Accounts, 'hold' | 'closeHold' | 'readAhead'>;
  readonly users: Pick<Users, 'show' | 'requireActive'>;
  readonly hasCurrency: (appId: string, currencyId: number) => Promise<boolean>;
  /** How long a stake may wait for its confirmation. */
  readonly lockTimeoutSeconds: (appId: string, environment: Environment) => number | Promise<number>;
}

export function createLocks(dependencies: LockDependencies) {
  const { handler, clock, failPoint, accounts, users, hasCurrency, lockTimeoutSeconds } = dependencies;
  return { lock, lockFromHold };

  async function lock(
    place: AppPlace,
    request: LockRequest,
    context: Requester,
  ): Promise<Outcome<LockedAnswer>> {
    const { appId, environment, scopeId } = place;
    const { poolId, betId, userId, currency: currencyId, amount } = request;
    const user = { environment, scopeId, userId };
    const stream = streamOf(place, poolId);
    // Asked together, so that one question to the log confirms both.
    const [{ status }, known] = await Promise.all([
      users.show(user, context),
      handler.load(pool, stream, context),
    ]);
    if (!(await hasCurrency(appId, currencyId))) throw reject('custody/unknown_currency');

    const stake = { betId, userId, currencyId, amount };
    const replay = lockedBefore(known, stake);
    if (replay) return replay;
    if (status !== 'active') await users.requireActive(user, context);
    requireEntry(known, stake);

    failPoint('lock.beforeHold');
    const now = clock();
    const waitsMs = 1_000 * (await lockTimeoutSeconds(appId, environment));
    const lockedAt = now.toISOString();
    const confirmBy = new Date(now.getTime() + waitsMs).toISOString();
    const held: HeldStake = {
      account: { environment, appId, userId, currencyId },
      holdId: stakeHoldId(poolId, betId),
      amount,
      request: { poolId, betId, lockedAt, confirmBy },
    };
    const by = requestedBy(context, isoTimeOf(clock));
    const order = { holdId: held.holdId, amount, purpose: 'stake', request: held.request } as const;
    const hold = await accounts.hold(held.account, order, by);
    failPoint('lock.held');

    switch (hold.outcome) {
      case 'insufficient':
        throw reject('custody/insufficient_funds', { available: hold.available, amount });
      case 'closed':
        return requireAnswer(await handler.load(pool, stream, context), stake);
      case 'alreadyHeld':
        if (hold.hold.amount !== amount) throw conflictOf(betId, 'amount');
    }
    return afterFirstAppend(async () => {
      // What this request has just held need not be read from its event.
      const outcome =
        hold.outcome === 'held'
          ? await lockHeld(held, hold.cause, context.deadlineMs, by.metadata)
          : await lockFromHold(hold.cause, context.deadlineMs);
      failPoint('lock.locked');
      const { answer } = outcome;
      if (answer.outcome === 'lost') throw answer.refusal;
      if (answer.outcome === 'alreadyReleased') throw reject('custody/lock_released');
      // Whoever held the funds began it, even if the process or a repeat has locked the stake in the meantime.
      return { ...outcome, answer, replayed: hold.outcome !== 'held' };
    });
  }

  /** The act of a hold: puts the stake into its pool, or closes the hold in full if the pool never takes it. */
  async function lockFromHold(cause: StreamEvent, deadlineMs: number): Promise<Outcome<ActAnswer>> {
    const hold = holdOpenedBy(cause, 'stake');
    assert(hold, `${cause.type} of ${cause.stream} holds nothing for a stake`);
    return lockHeld({ ...hold, request: heldRequest.parse(hold.request) }, cause, deadlineMs);
  }

  async function lockHeld(
    { account, holdId, amount, request: { poolId, ...stake } }: HeldStake,
    cause: StreamEvent,
    deadlineMs: number,
    metadata?: EventMetadata,
  ): Promise<Outcome<ActAnswer>> {
    const stream = streamOf(account, poolId);
    const { userId, currencyId } = account;
    const command: PoolCommand = { type: 'LockStake', userId, currencyId, amount, ...stake };
    const context = causedBy(cause, stream, deadlineMs, 0, metadata);
    const outcome = await handler.execute(pool, stream, command, context);
    const { answer } = outcome;
    if (answer.outcome === 'lost') {
      await accounts.closeHold(account, { holdId, payout: amount }, cause, deadlineMs);
      return { ...outcome, answer };
    }
    assert(answer.outcome === 'locked' || answer.outcome === 'alreadyReleased');
    return { ...outcome, answer };
  }
}

type ActAnswer = LockedAnswer | LostAnswer | { readonly outcome: 'alreadyReleased' };

/** The act of the hold; the rest of the command is in the hold itself and in whose it is. */
const heldRequest = z.object({
  poolId: z.string(),
  betId: z.string(),
  lockedAt: z.string(),
  confirmBy: z.string(),
});

interface HeldStake extends Pick<OpenedHold, 'account' | 'holdId' | 'amount'> {
  readonly request: z.output<typeof heldRequest>;
}

/** The original answer if the stake is in the pool; throws if the bet has another stake, or this one was released. */
function lockedBefore(known: Pool, stake: StakeContent): Outcome<LockedAnswer> | undefined {
  const look = lookForStake(known, stake);
  switch (look.found) {
    case 'none':
      return undefined;
    case 'other':
      throw conflictOf(stake.betId, look.field);
    case 'released':
      throw reject('custody/lock_released');
    case 'same':
      assert(known.status !== 'unknown');
      return { answer: lockedAnswer(known, look.stake), replayed: true, appended: [] };
  }
}

/** Throws what keeps a new stake out of the pool. */
function requireEntry(known: Pool, stake: StakeContent): void {
  const look = lookForStake(known, stake);
  if (look.found === 'none' && look.refusal) throw look.refusal;
}

/** A hold that is closed implies that its stake was released, paid or lost; otherwise the books would be wrong. */
function requireAnswer(known: Pool, stake: StakeContent): Outcome<LockedAnswer> {
  const replay = lockedBefore(known, stake);
  if (replay) return replay;
  requireEntry(known, stake);
  throw new assert.AssertionError({ message: 'a hold was given back, but its pool would take the stake' });
}

function conflictOf(key: string, field: string): Error {
  return reject('custody/idempotency_conflict', { key, field });
}
