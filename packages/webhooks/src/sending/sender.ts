/**
 * Delivers what is due in the lanes that this sender holds. One loop begins attempts and one writes what ended, each in
 * statements for all lanes together; the attempts themselves run beside them.
 */
import { randomUUID } from 'node:crypto';
import type { Pool } from '@coffer/database';
import type { Clock } from '@coffer/kernel';
import { envelopeBytes } from '../domain/envelope.ts';
import { createBell, repeat } from './bells.ts';
import { noteRound, readDue, settleLost, sweepDeleted } from './deliveries.ts';
import { forgetDeadSenders, holdLanes, leave, releaseLanes } from './holding.ts';
import { createLanes, type Due } from './lanes.ts';
import { isDelivered, type Poster, type Posting, type PostOutcome } from './post.ts';
import { createRecorder, type Round } from './recorder.ts';
import { signedHeaders } from './signature.ts';
import type { Target, Targets } from './targets.ts';

export interface Sender {
  /** Something may be due. */
  readonly wake: () => void;
  /** Waits a moment for the attempts under way; what has not ended by then is broken off, and made again. */
  readonly stop: () => Promise<void>;
}

interface SenderOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly poster: Poster;
  readonly targets: Targets;
  readonly onTrouble: (error: unknown) => void;
  /** How often to look for what another process made due. Default 200. */
  readonly pollMs?: number;
  /** How long a stop waits for attempts under way. Default 3,000. */
  readonly stopGraceMs?: number;
  /** How often what is rare is looked for: deleted subscriptions, dead senders, secrets that now can be opened. Default 10,000. */
  readonly sweepMs?: number;
}

interface Attempt extends Due {
  readonly startedAt: Date;
  readonly round: Round;
  isBrokenOff: boolean;
}

export function startSender(options: SenderOptions): Sender {
  const { pool, clock, poster, targets, onTrouble } = options;
  const { pollMs = 200, stopGraceMs = 3_000, sweepMs = 10_000 } = options;
  const senderId = randomUUID();
  const lanes = createLanes();
  const recorder = createRecorder(pool, clock);
  const underWay = new Set<Attempt>();
  /** Subscriptions whose secret could not be opened since the last sweep. */
  const unreadable = new Set<string>();
  const mayBegin = createBell();
  const hasEnded = createBell();
  const isQuiet = createBell();
  let isStopping = false;
  let tendedAtMs = Number.NEGATIVE_INFINITY;
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  async function beginDue(): Promise<void> {
    if (performance.now() - tendedAtMs >= pollMs) await tend();
    if (recorder.isBehind()) return;
    await readWhatIsDue();
    await begin(lanes.take());
  }

  async function tend(): Promise<void> {
    await breakOffWithdrawn();
    const held = await holdLanes(pool, senderId, clock());
    // Before anything of a dead sender's lanes is read.
    await settleLost(pool, clock());
    lanes.hold(held.lanes.filter(({ subscriptionId }) => !unreadable.has(subscriptionId)));
    const released = lanes.release(held.excess);
    if (released.length > 0) await releaseLanes(pool, senderId, released);
    lanes.stir();
    tendedAtMs = performance.now();
    if (tendedAtMs - sweptAtMs < sweepMs) return;
    sweptAtMs = tendedAtMs;
    unreadable.clear();
    await sweepDeleted(pool);
    await forgetDeadSenders(pool, clock());
  }

  /** Deletion wins, also against attempts under way, and whoever deletes: at most a poll later nothing is sent. */
  async function breakOffWithdrawn(): Promise<void> {
    const ids = lanes.withAttempts();
    if (ids.length === 0) return;
    const enabled = await targets.of(ids);
    for (const attempt of underWay) if (!enabled.has(attempt.subscriptionId)) attempt.isBrokenOff = true;
    for (const id of ids) if (!enabled.has(id)) poster.breakOff(id);
  }

  async function readWhatIsDue(): Promise<void> {
    const askedAt = lanes.stirs();
    const needs = lanes.needs();
    if (needs.length > 0) lanes.supply(needs, await readDue(pool, needs, clock()), askedAt);
  }

  async function begin(due: readonly Due[]): Promise<void> {
    if (due.length === 0) return;
    let begun: readonly Attempt[] = [];
    try {
      begun = await begunOf(due);
    } finally {
      const begins = new Set(begun.map(({ subscriptionId }) => subscriptionId));
      lanes.giveBack(due.filter(({ subscriptionId }) => !begins.has(subscriptionId)));
    }
  }

  /** Those whose attempts have begun: all of the subscriptions that are still enabled, and can be signed for. */
  async function begunOf(due: readonly Due[]): Promise<readonly Attempt[]> {
    const startedAt = clock();
    const id = await noteRound(pool, senderId, due, startedAt);
    if (id === undefined) {
      // Others may hold its lanes by now.
      tendedAtMs = Number.NEGATIVE_INFINITY;
      return [];
    }
    const round: Round = { id, open: 0 };
    try {
      // Once more, right before the attempts: whoever has been told that a subscription is deleted is sent nothing.
      const found = await targets.of(due.map(({ subscriptionId }) => subscriptionId));
      for (const [subscriptionId, target] of found) if (!target) unreadable.add(subscriptionId);
      const begun: Attempt[] = [];
      for (const one of due) {
        const target = found.get(one.subscriptionId);
        if (!target) continue;
        const attempt = { ...one, startedAt, round, isBrokenOff: false };
        begun.push(attempt);
        void make(attempt, target);
      }
      round.open = begun.length;
      return begun;
    } finally {
      if (round.open === 0) recorder.addEmpty(round);
    }
  }

  async function make(attempt: Attempt, target: Target): Promise<void> {
    underWay.add(attempt);
    const outcome = await poster.post(postingOf(attempt, target, clock()));
    if (!underWay.delete(attempt)) return;
    const succeeded = isDelivered(outcome);
    lanes.end(attempt.subscriptionId, succeeded);
    // That we have broken it off says nothing about the endpoint.
    hasCome(attempt, attempt.isBrokenOff && !succeeded ? undefined : outcome);
    mayBegin.ring();
    if (underWay.size === 0) isQuiet.ring();
  }

  function hasCome(attempt: Attempt, outcome: PostOutcome | undefined): void {
    recorder.add({ ...attempt, outcome });
    hasEnded.ring();
  }

  async function recordWhatEnded(): Promise<void> {
    const wasBehind = recorder.isBehind();
    for (const one of await recorder.record()) lanes.recorded(one);
    if (wasBehind) mayBegin.ring();
  }

  const untilStop = { isOver: () => isStopping, pauseMs: pollMs, onTrouble };
  const running = Promise.all([
    repeat(beginDue, { ...untilStop, bell: mayBegin }),
    repeat(recordWhatEnded, { ...untilStop, bell: hasEnded }),
  ]);
  return {
    wake() {
      lanes.stir();
      mayBegin.ring();
    },
    async stop() {
      isStopping = true;
      mayBegin.ring();
      hasEnded.ring();
      await running;
      isQuiet.silence();
      if (underWay.size > 0) await isQuiet.rung(stopGraceMs);
      for (const attempt of underWay) hasCome(attempt, undefined);
      underWay.clear();
      await poster.close();
      try {
        await recordWhatEnded();
        await leave(pool, senderId);
      } catch (error) {
        onTrouble(error);
      }
    },
  };
}

function postingOf(
  { subscriptionId: lane, eventId: id, type, body: text, previousSequence }: Due,
  { url, reach, keysAt }: Target,
  at: Date,
): Posting {
  const body = envelopeBytes(text, previousSequence === null ? null : Number(previousSequence));
  return { url, reach, lane, body, headers: signedHeaders({ id, type, body }, keysAt(at), at) };
}
