/**
 * The one process for all holds: it carries out what a hold was taken for and brings the other side's decision to the
 * account, even if the request that began it died. It knows no purposes: each context tells it what its acts are and
 * how the log shows them. Source: architecture, Processes.
 */
import assert from 'node:assert/strict';
import type { Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { accountEvents } from './domain/account.events.ts';
import type { EntryId, HoldId, HoldPurpose } from './domain/accountIds.ts';

/** A hold on the account of this stream: two players may attempt the same act, so the id alone is not enough. */
interface HoldPlace {
  readonly account: string;
  readonly holdId: HoldId;
}

interface EntryPlace {
  readonly account: string;
  readonly entryId: EntryId;
}

/** What the holds of one purpose are for. */
export interface HoldAct {
  /** The hold behind the act that this event records; undefined for every other event. */
  readonly holdOf: (event: RecordedEvent) => HoldPlace | undefined;
  /**
   * Carries out the act that the `FundsHeld` event was for, or closes the hold in full if that has become impossible.
   * Idempotent; throws on passing trouble.
   */
  readonly act: (held: RecordedEvent) => Promise<void>;
}

/** What events of one kind on another stream owe to an account: closing a hold or crediting an amount. */
export interface AccountDue {
  readonly name: string;
  /** As in a reaction: 0 if no request does the same. */
  readonly graceMs?: number;
  /** Where an event owes to many accounts: what is done last, so that it shows that everything is done. */
  readonly dueOf: (event: RecordedEvent) => HoldPlace | EntryPlace | undefined;
  /** As in a reaction. Default: the account, whose acts are then done in order. */
  readonly targetOf?: (event: RecordedEvent) => string;
  /** Closes or credits. Idempotent; throws on passing trouble. */
  readonly act: Reaction['act'];
}

/** The acts of holds, registered by the contexts that take them. */
export interface HoldActs {
  /** Throws if the purpose already has an act. */
  readonly register: (purpose: HoldPurpose, act: HoldAct) => void;
  /** For the hold process. A hold without an act for its purpose stops it. */
  readonly reaction: Reaction;
}

interface ActFor extends HoldAct {
  readonly purpose: HoldPurpose;
}

export function createHoldActs(): HoldActs {
  const acts: ActFor[] = [];
  return {
    register(purpose, act) {
      assert(!acts.some((known) => known.purpose === purpose), `holds for "${purpose}" have one act`);
      acts.push({ ...act, purpose });
    },
    reaction: actsOnHolds(acts),
  };
}

function actsOnHolds(acts: readonly ActFor[]): Reaction {
  return {
    name: 'actOnHold',
    causeOf(event) {
      if (event.type !== 'FundsHeld') return undefined;
      const held = accountEvents.decode(event);
      if (held.type !== 'FundsHeld') return undefined;
      actFor(held.data.purpose);
      return { key: keyOf({ account: event.stream, holdId: held.data.holdId }), target: event.stream };
    },
    effectOf(event) {
      const closed = closedHoldOf(event);
      if (closed) return keyOf(closed);
      for (const { holdOf } of acts) {
        const place = holdOf(event);
        if (place) return keyOf(place);
      }
      return undefined;
    },
    async act(cause) {
      const held = accountEvents.decode(cause);
      if (held.type === 'FundsHeld') await actFor(held.data.purpose).act(cause);
    },
  };

  function actFor(purpose: HoldPurpose): HoldAct {
    const act = acts.find((known) => known.purpose === purpose);
    if (!act) throw new Error(`This release does not know what a hold for "${purpose}" is for.`);
    return act;
  }
}

/** For the hold process: closes or credits what an event owes. */
export function settlesDue({ dueOf, targetOf, act, ...shown }: AccountDue): Reaction {
  return {
    ...shown,
    causeOf(event) {
      const due = dueOf(event);
      return due && { key: keyOf(due), target: targetOf?.(event) ?? due.account };
    },
    effectOf(event) {
      const effect = closedHoldOf(event) ?? creditedEntryOf(event);
      return effect && keyOf(effect);
    },
    act,
  };
}

function closedHoldOf(event: RecordedEvent): HoldPlace | undefined {
  if (event.type !== 'HoldClosed') return undefined;
  const closed = accountEvents.decode(event);
  return closed.type === 'HoldClosed' ? { account: event.stream, holdId: closed.data.holdId } : undefined;
}

function creditedEntryOf(event: RecordedEvent): EntryPlace | undefined {
  if (event.type !== 'AccountCredited') return undefined;
  const credited = accountEvents.decode(event);
  return credited.type === 'AccountCredited'
    ? { account: event.stream, entryId: credited.data.entryId }
    : undefined;
}

/** Stream names contain no space, and ids of holds and entries differ by kind. */
function keyOf(place: HoldPlace | EntryPlace): string {
  return `${place.account} ${'holdId' in place ? place.holdId : place.entryId}`;
}
