import type { LogPlace, Position, RecordedEvent } from '@coffer/event-store';
import { recordedEvent } from '@coffer/testing';
import { expect } from 'chai';
import { NotYetError, PoisonEventError } from './errors.ts';
import type { MonotonicClock } from './monotonicClock.ts';
import type { Reaction } from './reaction.ts';
import { createReactor, type ReactorOptions } from './reactor.ts';

/**
 * A world of two events: `Owed` of a target, and `Paid` with the same key. Payments can be made to fail, or to wait until
 * released.
 */
describe('a reactor', () => {
  it('leaves a fresh cause to the request for the grace period, then acts', async () => {
    const world = given();
    await world.caughtUp();
    await world.log(owed('a', 'alice'));
    await world.pass(1_999);
    expect(world.acts).to.deep.equal([]);
    await world.pass(1);
    expect(world.acts).to.deep.equal(['a']);
  });

  it('does not act when the effect appears within the grace period', async () => {
    const world = given();
    await world.caughtUp();
    await world.log(owed('a', 'alice'), paid('a'));
    await world.pass(60_000);
    expect(world.acts).to.deep.equal([]);
  });

  it('acts at once on older causes when it has caught up, and not before', async () => {
    const world = given();
    await world.log(owed('a', 'alice'), owed('b', 'bob'), paid('a'));
    await world.pass(60_000);
    expect(world.acts).to.deep.equal([]);
    await world.caughtUp();
    expect(world.acts).to.deep.equal(['b']);
  });

  it('acts once, however long it takes to read the effect', async () => {
    const world = given();
    await world.log(owed('a', 'alice'));
    await world.caughtUp();
    await world.pass(3_600_000);
    expect(world.acts).to.deep.equal(['a']);
  });

  it('keeps the causes of one target in order, independently of other targets', async () => {
    const world = given({ holdsActs: true });
    await world.log(owed('a1', 'alice'), owed('a2', 'alice'), owed('b1', 'bob'));
    await world.caughtUp();
    expect(world.acts).to.deep.equal(['a1', 'b1']);
    await world.letGo('a1');
    expect(world.acts).to.deep.equal(['a1', 'b1', 'a2']);
  });

  it('acts on as many targets at a time as allowed', async () => {
    const world = given({ holdsActs: true, parallelTargets: 2 });
    await world.log(owed('a', 'alice'), owed('b', 'bob'), owed('c', 'carol'));
    await world.caughtUp();
    expect(world.acts).to.deep.equal(['a', 'b']);
    await world.letGo('b');
    expect(world.acts).to.deep.equal(['a', 'b', 'c']);
  });

  it('retries for ever, with growing pauses, and holds back later causes of the target', async () => {
    const world = given({ failing: ['a1'], firstRetryMs: 100, mostRetryMs: 400 });
    await world.log(owed('a1', 'alice'), owed('a2', 'alice'));
    await world.caughtUp();
    for (const delayMs of [100, 200, 400, 400]) await world.pass(delayMs);
    expect(world.acts).to.deep.equal(['a1', 'a1', 'a1', 'a1', 'a1']);
    expect(world.reactor.figures().failures).to.equal(5);
    expect(world.troubles).to.have.length(5);
    world.mend('a1');
    await world.pass(400);
    expect(world.acts.slice(5)).to.deep.equal(['a1', 'a2']);
  });

  it('gives the place of an act that has to wait to the next, and tries it again later', async () => {
    const world = given({ waiting: ['a', 'b'], parallelTargets: 1, firstRetryMs: 100, mostRetryMs: 400 });
    await world.log(owed('a', 'alice'), owed('b', 'bob'), owed('c', 'carol'));
    await world.caughtUp();
    expect(world.acts).to.deep.equal(['a', 'b', 'c']);
    expect(world.troubles).to.deep.equal([]);
    expect(world.reactor.figures()).to.include({ count: 3, failures: 0 });
    expect(world.place(), 'it is still owed').to.equal(undefined);
    for (const delayMs of [100, 200, 400]) await world.pass(delayMs);
    expect(world.acts.slice(3)).to.deep.equal(['a', 'b', 'a', 'b', 'a', 'b']);
  });

  it('stops trying when the effect appears', async () => {
    const world = given({ failing: ['a'] });
    await world.log(owed('a', 'alice'));
    await world.caughtUp();
    await world.log(paid('a'));
    await world.pass(3_600_000);
    expect(world.acts).to.deep.equal(['a']);
  });

  it('has its place just before the oldest pending cause, or at the last event', async () => {
    const world = given({ startingAt: 10 });
    expect(world.place()).to.equal('10');
    await world.log(other(), owed('a', 'alice'), owed('b', 'bob'), other());
    expect(world.place()).to.equal('11');
    await world.log(paid('a'));
    expect(world.place()).to.equal('12');
    await world.log(paid('b'));
    expect(world.place()).to.equal('16');
  });

  it('keeps its place after an act until the effect has been read', async () => {
    const world = given();
    await world.log(other(), owed('a', 'alice'), other());
    await world.caughtUp();
    expect(world.acts).to.deep.equal(['a']);
    expect(world.place()).to.equal('1');
    expect(world.reactor.figures().count).to.equal(1);
  });

  it('acts again on exactly what is pending when a successor resumes from its place', async () => {
    const history = [owed('a', 'alice'), owed('b', 'bob'), paid('b'), owed('c', 'carol'), paid('a')];
    const crashed = given();
    await crashed.log(...history);
    const place = crashed.place();
    expect(place).to.equal('3');

    const resumed = given({ startingAt: Number(place) });
    await resumed.log(...history.slice(Number(place)));
    await resumed.caughtUp();
    expect(resumed.acts).to.deep.equal(['c']);
  });

  it('does not mix the keys of two reactions', async () => {
    const world = given({ reactions: ['first', 'second'], effectsOf: ['first'] });
    await world.log(owed('a', 'alice'), paid('a'));
    await world.caughtUp();
    expect(world.acts).to.deep.equal(['a']);
    expect(world.reactor.figures().count).to.equal(1);
  });

  it('stops reading while too many are pending, acts without waiting, and resumes reading', async () => {
    const world = given({ mostPending: 2, holdsActs: true });
    const taken = world.log(owed('a', 'alice'), owed('b', 'bob'), owed('c', 'carol'), owed('d', 'dave'));
    let readsOn = false;
    void taken.then(() => {
      readsOn = true;
    });
    await settle();
    expect(world.acts).to.deep.equal(['a', 'b', 'c', 'd']);
    await world.letGo('a');
    expect(readsOn).to.equal(false);
    await world.letGo('b');
    await taken;
    expect(world.place()).to.equal('2');
  });

  it('begins no act after an abort', async () => {
    const world = given({ failing: ['a'] });
    await world.log(owed('a', 'alice'));
    await world.caughtUp();
    await world.log(owed('b', 'bob'));
    world.abort();
    await world.pass(3_600_000);
    await world.reactor.idle();
    expect(world.acts).to.deep.equal(['a']);
  });

  it('aborts long acts: that is not a failure, and they are still owed', async () => {
    const world = given({ actsUntilStopped: true });
    await world.log(other(), owed('a', 'alice'), owed('b', 'bob'));
    await world.caughtUp();
    world.abort();
    await world.reactor.idle();
    expect(world.acts).to.deep.equal(['a', 'b']);
    expect(world.troubles).to.deep.equal([]);
    expect(world.reactor.figures()).to.include({ count: 2, failures: 0 });
    expect(world.place()).to.equal('1');
  });

  it('takes the act of a cause for its effect when an event after it is skipped', async () => {
    const world = given({ isSkipped: ['Garbled'] });
    await world.log(owed('a', 'alice'));
    await world.caughtUp();
    await world.log(owed('b', 'bob'), garbled(), owed('c', 'carol'));
    expect(world.acts).to.deep.equal(['a']);
    expect(world.place()).to.equal('1');
    await world.pass(60_000);
    expect(world.acts).to.deep.equal(['a', 'b', 'c']);
    expect(world.place()).to.equal('3');
  });

  it('still owes a cause whose act fails when an event after it is skipped', async () => {
    const world = given({ isSkipped: ['Garbled'], failing: ['a'] });
    await world.log(other(), owed('a', 'alice'), garbled());
    await world.caughtUp();
    expect(world.place()).to.equal('1');
    world.mend('a');
    await world.pass(60_000);
    expect(world.acts).to.deep.equal(['a', 'a']);
    expect(world.place()).to.equal('3');
  });

  it('names the event that a reaction cannot understand', async () => {
    const world = given();
    let thrown: unknown;
    await world.log(garbled()).catch((error: unknown) => {
      thrown = error;
    });
    expect(thrown).to.be.instanceOf(PoisonEventError);
    expect(thrown).to.have.deep.property('event', {
      stream: 'debts',
      revision: 0,
      type: 'Garbled',
      id: 'event 1',
      position: '1',
    });
  });
});

interface Fact {
  readonly type: string;
  readonly key: string;
  readonly target: string;
}
const owed = (key: string, target: string): Fact => ({ type: 'Owed', key, target });
const paid = (key: string): Fact => ({ type: 'Paid', key, target: '' });
const other = (): Fact => ({ type: 'Other', key: '', target: '' });
/** No reaction understands it. */
const garbled = (): Fact => ({ type: 'Garbled', key: '', target: '' });

interface World extends ReactorOptions {
  readonly startingAt?: number;
  /** Keys whose acts fail until mended. */
  readonly failing?: readonly string[];
  /** Keys whose acts have to wait for something. */
  readonly waiting?: readonly string[];
  /** Acts wait until they are released. */
  readonly holdsActs?: boolean;
  /** Acts end only when aborted. */
  readonly actsUntilStopped?: boolean;
  readonly reactions?: readonly string[];
  /** The reactions for which `Paid` is the effect; all of them by default. */
  readonly effectsOf?: readonly string[];
  /** Types whose events are skipped. */
  readonly isSkipped?: readonly string[];
}

function given(world: World = {}) {
  const {
    startingAt = 0,
    failing = [],
    waiting = [],
    holdsActs = false,
    actsUntilStopped = false,
    reactions = ['pay'],
    effectsOf = reactions,
    isSkipped = [],
  } = world;
  const clock = manualClock();
  const controller = new AbortController();
  const acts: string[] = [];
  const troubles: unknown[] = [];
  const broken = new Set(failing);
  const held = new Map<string, () => void>();
  let position = startingAt;

  const reaction = (name: string): Reaction => ({
    name,
    causeOf: (event) => {
      const { key, target }: Fact = JSON.parse(event.data);
      if (event.type === 'Garbled') throw new Error('no such event');
      return event.type === 'Owed' ? { key, target } : undefined;
    },
    effectOf: (event) =>
      event.type === 'Paid' && effectsOf.includes(name) ? JSON.parse(event.data).key : undefined,
    act: async (cause, signal) => {
      const { key }: Fact = JSON.parse(cause.data);
      acts.push(key);
      if (waiting.includes(key)) throw new NotYetError('not yet');
      if (broken.has(key)) throw new Error('not now');
      if (actsUntilStopped) {
        await new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      }
      if (holdsActs) await new Promise<void>((resolve) => held.set(key, resolve));
    },
  });
  const reactor = createReactor({
    reactions: reactions.map(reaction),
    options: world,
    clock,
    wallClock: () => new Date('2026-01-01T00:00:00Z'),
    place: startingAt === 0 ? undefined : { ...placeAt(startingAt), ordinal: startingAt },
    signal: controller.signal,
    onTrouble: (error) => troubles.push(error),
    isSkipped: async ({ type }) => isSkipped.includes(type),
  });

  return {
    reactor,
    acts,
    troubles,
    place: () => reactor.place()?.position,
    abort: () => controller.abort(),
    mend: (key: string) => broken.delete(key),
    async caughtUp() {
      reactor.caughtUp();
      await settle();
    },
    async log(...facts: readonly Fact[]) {
      const events = facts.map((fact, index) => recorded(fact, index, ++position));
      await reactor.take(events);
      await settle();
    },
    async pass(delayMs: number) {
      clock.pass(delayMs);
      await settle();
    },
    async letGo(key: string) {
      held.get(key)?.();
      await settle();
    },
  };
}

const placeAt = (position: number): LogPlace => ({
  position: String(position) as Position,
  eventId: `event ${position}`,
});

function recorded(fact: Fact, revision: number, number: number): RecordedEvent {
  const { position, eventId: id } = placeAt(number);
  const { type } = fact;
  return recordedEvent({ id, type, data: JSON.stringify(fact), stream: 'debts', revision, position });
}

/** Lets everything run that waits only for its turn. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function manualClock(): MonotonicClock & { pass: (delayMs: number) => void } {
  const timers = new Set<{ readonly atMs: number; readonly run: () => void }>();
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    after: (delayMs, run) => {
      const timer = { atMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass: (delayMs) => {
      nowMs += delayMs;
      for (const timer of [...timers]) {
        if (timer.atMs > nowMs) continue;
        timers.delete(timer);
        timer.run();
      }
    },
  };
}
