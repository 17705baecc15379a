/**
 * The scrub: in the background, over and over, the whole log is verified and the books are derived from its
 * first event, so that an alteration of either is found even if nobody asks. One turn does a little and says
 * when the next is due; all that a turn needs to know is in the database, so that any node may take the next
 * one.
 *
 * A pass is spread over its allotted time, and rests for many times as long as it works: it takes a twentieth of one core, and a
 * quarter at most where it is late. When commands or the database are busy, its work takes longer and so does its rest. ADR 0029.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PoisonEventError } from '@coffer/consumers';
import { LogRewrittenError } from '@coffer/event-store';
import type { BooksPlace } from '../report.ts';
import type { BooksScrub } from './booksScrub.ts';
import {
  type Finding,
  findingsOf,
  keyOf,
  NOTHING_FOUND,
  type Pass,
  type ScrubPlace,
  type ScrubState,
  type Stage,
  withFindings,
} from './scrubState.ts';

interface LogFault {
  readonly kind: string;
  readonly ordinal: number;
  readonly stream: string | null;
  readonly revision: number | null;
  readonly id: string | null;
  readonly reason: string;
}

/** The log, verified against its chain. */
export interface LogScrub {
  /** How far a pass that begins now has to go, and what is wrong with that end itself. */
  readonly end: () => Promise<{
    readonly end: ScrubPlace | undefined;
    readonly faults: readonly LogFault[];
  }>;
  /** Verifies about this many events after the place, and rests at each page that it reads. */
  readonly stretch: (
    after: ScrubPlace | undefined,
    end: ScrubPlace,
    options: { readonly events: number; readonly signal: AbortSignal; readonly rest: () => Promise<void> },
  ) => Promise<{
    readonly reached: ScrubPlace;
    readonly faultCount: number;
    readonly faults: readonly LogFault[];
  }>;
}

export interface ScrubDependencies {
  readonly log: LogScrub;
  readonly books: BooksScrub;
  /** Everything there is to compare at this moment. */
  readonly places: () => Promise<readonly BooksPlace[]>;
  /** The time in which everything is checked once. */
  readonly passMs: number;
  readonly signal: AbortSignal;
  /** By which it measures its work and rests. Default: the machine's. */
  readonly time?: Time;
}

interface Time {
  readonly nowMs: () => number;
  readonly wait: (forMs: number, signal: AbortSignal) => Promise<unknown>;
}

const REAL_TIME: Time = {
  nowMs: () => performance.now(),
  wait: (forMs, signal) => delay(forMs, undefined, { signal }),
};

/** Events per turn: some seconds of work in a busy process. */
const VERIFIED_A_TURN = 5_000;
const DERIVED_A_TURN = 2_000;

/** For each second of work of a pass that is late. */
const REST = 3;
/** And of one in time: a turn folds all streams that begin in its stretch, to their ends, and nobody who plays is to notice. */
const REST_IN_TIME = 19;
/** A pass is late only if it is this share of its stage behind. */
const SLACK = 0.05;

/** When each stage must be over, as a share of the pass. The remainder is a reserve for trouble. */
const STAGE_ENDS = { verifying: 0.4, deriving: 0.75, comparing: 0.85 };

/** A process that is starting has other things to do first. */
const FIRST_WAIT = 0.001;

/**
 * The state after the turn, and how long until the next. Throws whatever keeps it from continuing for the
 * moment.
 */
export async function scrubTurn(
  dependencies: ScrubDependencies,
  state: ScrubState | undefined,
  now: Date,
): Promise<{ readonly state: ScrubState; readonly waitMs: number }> {
  const { passMs, time: { nowMs } = REAL_TIME } = dependencies;
  if (!state) {
    return { state: { pass: null, lastPass: null, alarm: null }, waitMs: passMs * FIRST_WAIT };
  }
  const begunMs = nowMs();
  const pass = state.pass ?? (await beginPass(dependencies, now));
  const passedMs = now.getTime() - Date.parse(pass.begunAt);
  const {
    stage,
    found = [],
    foundCount,
    share,
    hasRested = false,
  } = await advance(dependencies, pass, passedMs);
  const findings = withFindings(pass.findings, found, foundCount);
  const alarm =
    findings.count > 0 ? { since: state.alarm?.since ?? now.toISOString(), findings } : state.alarm;

  const leftMs = passMs * STAGE_ENDS[pass.stage.kind] - passedMs;
  const restMs = hasRested ? 0 : (nowMs() - begunMs) * REST;
  const waitMs = Math.max(restMs, leftMs * share);
  if (stage) return { state: { ...state, pass: { ...pass, stage, findings }, alarm }, waitMs };

  await dependencies.books.drop();
  const lastPass = {
    endedAt: now.toISOString(),
    seconds: passedMs / 1000,
    findings: findings.count,
  };
  return { state: { pass: null, lastPass, alarm: findings.count > 0 ? alarm : null }, waitMs };
}

async function beginPass({ log }: ScrubDependencies, now: Date): Promise<Pass> {
  const { end, faults } = await log.end();
  return {
    begunAt: now.toISOString(),
    events: end?.ordinal ?? 0,
    stage: end ? { kind: 'verifying', end, reached: null } : DERIVING,
    findings: withFindings(NOTHING_FOUND, faults.map(findingOf)),
  };
}

interface Step {
  /** Undefined at the end of the pass. */
  readonly stage: Stage | undefined;
  readonly found?: readonly Finding[];
  readonly foundCount?: number;
  /** Share of what was left of the stage. */
  readonly share: number;
  /** It has rested between its pages for as long as its work requires. */
  readonly hasRested?: boolean;
}

const DERIVING: Stage = { kind: 'deriving', ordinal: null };

function advance(dependencies: ScrubDependencies, pass: Pass, passedMs: number): Promise<Step> {
  switch (pass.stage.kind) {
    case 'verifying':
      return verify(dependencies, pass.stage, passedMs);
    case 'deriving':
      return derive(dependencies, pass.stage, pass.events);
    case 'comparing':
      return compare(dependencies, pass.stage);
  }
}

async function verify(
  { log, passMs, signal, time: { nowMs, wait } = REAL_TIME }: ScrubDependencies,
  { end, reached }: Extract<Stage, { readonly kind: 'verifying' }>,
  passedMs: number,
): Promise<Step> {
  const from = reached?.ordinal ?? 0;
  const inTimeMs = passMs * STAGE_ENDS.verifying * (from / end.ordinal + SLACK) - passedMs;
  const turnBegunMs = nowMs();
  let workedFromMs = turnBegunMs;
  const {
    reached: to,
    faults,
    faultCount,
  } = await log.stretch(reached ?? undefined, end, {
    events: VERIFIED_A_TURN,
    signal,
    async rest() {
      const isLate = nowMs() - turnBegunMs > inTimeMs;
      await wait((nowMs() - workedFromMs) * (isLate ? REST : REST_IN_TIME), signal);
      workedFromMs = nowMs();
    },
  });
  const isAtEnd = to.ordinal >= end.ordinal;
  return {
    stage: isAtEnd ? DERIVING : { kind: 'verifying', end, reached: to },
    found: faults.map(findingOf),
    foundCount: faultCount,
    share: isAtEnd ? 1 : (to.ordinal - from) / (end.ordinal - from),
    hasRested: true,
  };
}

async function derive(
  { books, signal }: ScrubDependencies,
  { ordinal: before }: Extract<Stage, { readonly kind: 'deriving' }>,
  events: number,
): Promise<Step> {
  try {
    const step = await books.derive({ anew: before === null, events: DERIVED_A_TURN, signal });
    const { ordinal, taken, isAtEnd } = step;
    if (isAtEnd) return { stage: { kind: 'comparing', after: null }, share: 1 };
    const left = Math.max(events - (before ?? 0), taken);
    return { stage: { kind: 'deriving', ordinal }, share: taken / left };
  } catch (error) {
    if (error instanceof LogRewrittenError) return { stage: DERIVING, share: 1 };
    if (!(error instanceof PoisonEventError)) throw error;
    // There are no books to compare after an event that its stream does not allow.
    const { stream, revision, type } = error.event;
    const details = { type, reason: error.message };
    return {
      stage: undefined,
      found: [{ part: 'books', check: 'log', subject: `${stream} ${revision}`, details }],
      share: 1,
    };
  }
}

async function compare(
  { books, places, signal }: ScrubDependencies,
  { after }: Extract<Stage, { readonly kind: 'comparing' }>,
): Promise<Step> {
  const left = (await places())
    .filter((place) => after === null || keyOf(place) > after)
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  const [next] = left;
  if (!next) return { stage: undefined, share: 1 };
  const found = findingsOf(await books.compare(next, signal));
  const share = 1 / left.length;
  return { stage: left.length > 1 ? { kind: 'comparing', after: keyOf(next) } : undefined, found, share };
}

const findingOf = ({ kind, stream, revision, ...fault }: LogFault): Finding => ({
  part: 'log',
  check: kind,
  subject: stream === null ? `ordinal ${fault.ordinal}` : `${stream} ${revision}`,
  details: fault,
});

/** How much of the current pass is done, from 0 to 1; undefined between passes. */
export function scrubProgress(state: ScrubState | undefined): number | undefined {
  if (!state?.pass) return undefined;
  const { stage, events } = state.pass;
  const part = (done: number) => (events === 0 ? 1 : Math.min(1, done / events)) / 2;
  if (stage.kind === 'verifying') return part(stage.reached?.ordinal ?? 0);
  return stage.kind === 'deriving' ? 0.5 + part(stage.ordinal ?? 0) : 1;
}
