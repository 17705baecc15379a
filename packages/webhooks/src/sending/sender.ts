/**
 * Delivers what is due. One loop claims what begins and one writes what ended, each in statements for all lanes together;
 * the attempts themselves run beside them. A claim needs only the room that an attempt leaves, and not its record: what is
 * not recorded yet is not due.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import type { Clock } from '@coffer/kernel';
import { envelopeBytes } from '../domain/envelope.ts';
import { type Claimed, claimDue, type EndedAttempt, recordEnded, sweepDeleted } from './deliveries.ts';
import { createLanes, MOST_IN_FLIGHT } from './lanes.ts';
import { isDelivered, type Poster } from './post.ts';
import { signedHeaders } from './signature.ts';
import type { Target, Targets } from './targets.ts';

export interface Sender {
  /** Something may be due. */
  readonly wake: () => void;
  /** Waits a moment for the attempts under way; what they have not ended by then is attempted again. */
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
}

const SHORTEST_ROUND_MS = 10;
const TROUBLE_PAUSE_MS = 1_000;
const SWEEP_INTERVAL_MS = 10_000;

export function startSender({
  pool,
  clock,
  poster,
  targets,
  onTrouble,
  pollMs = 200,
  stopGraceMs = 3_000,
}: SenderOptions): Sender {
  const lanes = createLanes();
  const underWay = new Set<Promise<void>>();
  let ended: EndedAttempt[] = [];
  const mayBegin = createBell();
  const hasEnded = createBell();
  let cannotRecord = false;
  let isStopping = false;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  /** Until the stop. The bell ends the pause between two rounds. */
  async function repeat(bell: Bell, pauseMs: number, round: () => Promise<void>): Promise<void> {
    while (!isStopping) {
      const begunMs = performance.now();
      bell.silence();
      try {
        await round();
        await bell.rung(pauseMs);
        // What comes one by one is dealt with together.
        if (!isStopping) await delay(Math.max(0, begunMs + SHORTEST_ROUND_MS - performance.now()));
      } catch (error) {
        onTrouble(error);
        bell.silence();
        if (!isStopping) await bell.rung(TROUBLE_PAUSE_MS);
      }
    }
  }

  async function beginDue(): Promise<void> {
    await breakOffWithdrawn();
    await sweepNowAndThen();
    if (isBehind()) return;
    await begin(await claimDue(pool, lanes.bounds(), clock()));
  }

  async function begin(claimed: readonly Claimed[]): Promise<void> {
    if (claimed.length === 0) return;
    // Once more, right before the attempts: whoever has been told that a subscription is deleted is sent nothing.
    const found = await targets.of(claimed.map(({ subscriptionId }) => subscriptionId));
    for (const one of claimed) {
      const target = found.get(one.subscriptionId);
      // Deleted or disabled since: what is left of it counts as broken off, and is claimed again if need be.
      if (!target) continue;
      const attempt = attemptOf(one, target, lanes.begin(one.subscriptionId)).finally(() =>
        underWay.delete(attempt),
      );
      underWay.add(attempt);
    }
  }

  async function attemptOf(
    { subscriptionId, sequence, number, previousSequence, eventId: id, type, body: text }: Claimed,
    { url, reach, secretsAt }: Target,
    signal: AbortSignal,
  ): Promise<void> {
    const at = clock();
    const body = envelopeBytes(text, previousSequence === null ? null : Number(previousSequence));
    const headers = signedHeaders({ id, type, body }, secretsAt(at), at);
    const outcome = await poster.post({ url, reach, headers, body, signal });
    const succeeded = isDelivered(outcome);
    lanes.end(subscriptionId, succeeded);
    // That we have broken it off says nothing about the endpoint.
    if (signal.aborted && !succeeded) return;
    ended.push({ subscriptionId, sequence, number, succeeded, ...outcome });
    hasEnded.ring();
    mayBegin.ring();
  }

  /** What is not recorded is attempted again, so nothing more begins until it is. */
  const isBehind = (): boolean => cannotRecord || ended.length >= MOST_IN_FLIGHT;

  async function recordWhatEnded(): Promise<void> {
    const some = ended;
    if (some.length === 0) return;
    const wasBehind = isBehind();
    ended = [];
    try {
      await recordEnded(pool, some, clock());
      cannotRecord = false;
    } catch (error) {
      ended = [...some, ...ended];
      cannotRecord = true;
      throw error;
    }
    if (wasBehind) mayBegin.ring();
  }

  /** Deletion wins, also against attempts under way, and whoever deletes: at most a poll later nothing is sent. */
  async function breakOffWithdrawn(): Promise<void> {
    const ids = lanes.withAttempts();
    if (ids.length === 0 || performance.now() - lookedAtMs < pollMs) return;
    lookedAtMs = performance.now();
    const enabled = await targets.of(ids);
    for (const id of ids) if (!enabled.has(id)) lanes.breakOff(id);
  }

  async function sweepNowAndThen(): Promise<void> {
    if (performance.now() - sweptAtMs < SWEEP_INTERVAL_MS) return;
    sweptAtMs = performance.now();
    await sweepDeleted(pool);
  }

  const running = Promise.all([
    repeat(mayBegin, pollMs, beginDue),
    repeat(hasEnded, pollMs, recordWhatEnded),
  ]);
  return {
    wake: mayBegin.ring,
    async stop() {
      isStopping = true;
      mayBegin.ring();
      hasEnded.ring();
      await running;
      const grace = AbortSignal.timeout(stopGraceMs);
      const timeUp = new Promise<void>((resolve) => grace.addEventListener('abort', () => resolve()));
      await Promise.race([Promise.all(underWay), timeUp]);
      const inTime = ended;
      ended = [];
      await poster.close();
      if (inTime.length > 0) await recordEnded(pool, inTime, clock()).catch(onTrouble);
    },
  };
}

interface Bell {
  readonly ring: () => void;
  /** Forgets that it was rung. */
  readonly silence: () => void;
  /** Once it is rung, also if it was before, or after so long. */
  readonly rung: (withinMs: number) => Promise<void>;
}

function createBell(): Bell {
  let isRung = false;
  let wake: () => void = () => undefined;
  return {
    ring() {
      isRung = true;
      wake();
    },
    silence() {
      isRung = false;
    },
    async rung(withinMs) {
      if (isRung) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
