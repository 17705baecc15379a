import { PoisonEventError } from '@coffer/consumers';
import { expect } from 'chai';
import type { BooksPlace, Report } from '../report.ts';
import { type ScrubDependencies, scrubTurn } from './scrub.ts';
import type { ScrubPlace, ScrubState } from './scrubState.ts';

const BEGIN = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const FAULT = {
  kind: 'altered',
  ordinal: 7,
  stream: 'account-1',
  revision: 3,
  id: 'id-7',
  reason: 'changed',
};

describe('a turn of the scrub', () => {
  it('goes over the log, derives the books, and compares those of each app', async () => {
    const scrub = scrubOf({ events: 12_000 });
    await scrub.pass();
    expect(scrub.done).to.deep.equal([
      'verify 0-5000',
      'verify 5000-10000',
      'verify 10000-12000',
      ...Array.from({ length: 7 }, (_, turn) => `derive ${turn === 0 ? 'anew' : 'on'}`),
      'compare app_1 live',
      'compare app_1 test',
      'drop',
    ]);
    expect(scrub.state()).to.deep.include({ pass: null, alarm: null });
    expect(scrub.state()?.lastPass).to.include({ findings: 0 });
  });

  it('spreads a pass over the day, and the next begins before the day is over', async () => {
    for (const events of [0, 3, 12_000, 500_000]) {
      const scrub = scrubOf({ events });
      await scrub.pass();
      expect(scrub.sinceBeginMs(), `${events} events`).to.be.within(0.8 * DAY_MS, 0.9 * DAY_MS);
    }
  });

  it('rests three times as long as it works where the day is not enough', async () => {
    const scrub = scrubOf({ events: 4, passMs: 1, derivingMs: 50 });
    const waits = [];
    for (let turn = 0; turn < 3; turn++) waits.push(await scrub.turn());
    expect(waits[2]).to.equal(150);
  });

  it('takes a twentieth of a core, and a quarter once it is late', async () => {
    const inTime = scrubOf({ events: 12_000, pageMs: 10, pages: 3 });
    await inTime.turn();
    await inTime.turn();
    expect(inTime.rests).to.deep.equal([190, 190, 190]);

    // 200 ms behind the plan are no delay yet, and the first rest alone takes 380.
    const late = scrubOf({ events: 12_000, passMs: 10_000, pageMs: 20, pages: 3 });
    await late.turn();
    await late.turn();
    expect(late.rests).to.deep.equal([380, 60, 60]);

    const begun = {
      ...inTime.state(),
      pass: { ...inTime.state()?.pass, begunAt: new Date(0).toISOString() },
    };
    const taken = scrubOf({ events: 12_000, pageMs: 10, pages: 2, state: begun as ScrubState });
    await taken.turn();
    expect(taken.rests, 'of a pass that began long ago').to.deep.equal([30, 30]);
  });

  it('continues from the state that another has left', async () => {
    const first = scrubOf({ events: 12_000 });
    for (let turn = 0; turn < 3; turn++) await first.turn();
    const second = scrubOf({ events: 12_000, state: JSON.parse(JSON.stringify(first.state())) });
    await second.turn();
    expect(second.done).to.deep.equal(['verify 10000-12000']);
  });

  it('raises the alarm with the first finding, and keeps it until a whole pass has found none', async () => {
    const faults = [FAULT];
    const scrub = scrubOf({ events: 4, faults });
    await scrub.turn();
    await scrub.turn();
    const alarm = scrub.state()?.alarm;
    expect(alarm?.findings).to.deep.include({ count: 1 });
    expect(alarm?.findings.first[0]).to.deep.include({
      part: 'log',
      check: 'altered',
      subject: 'account-1 3',
    });
    await scrub.pass();
    expect(scrub.state()?.alarm?.since).to.equal(alarm?.since);

    faults.pop();
    await scrub.turn();
    expect(scrub.state()?.alarm, 'while the next pass is under way').to.not.equal(null);
    await scrub.pass();
    expect(scrub.state()?.alarm).to.equal(null);
    expect(scrub.state()?.lastPass).to.include({ findings: 0 });
  });

  it('finds a fault in the end of the chain, and a difference in the books', async () => {
    const atEnd = scrubOf({ events: 4, endFaults: [{ ...FAULT, kind: 'chain_broken', stream: null }] });
    await atEnd.turn();
    await atEnd.turn();
    expect(atEnd.state()?.alarm?.findings.first[0]).to.include({
      check: 'chain_broken',
      subject: 'ordinal 7',
    });

    const discrepancy = { check: 'accounts_rows', subject: 'account-1', expected: null, actual: null };
    const inBooks = scrubOf({ events: 4, discrepancies: [discrepancy] });
    await inBooks.pass();
    expect(inBooks.state()?.lastPass).to.include({ findings: 2 });
    const { first } = inBooks.state()?.alarm?.findings ?? {};
    expect(first?.map(({ details }) => (details as BooksPlace).environment)).to.deep.equal(['live', 'test']);
  });

  it('ends its pass at an event that no books can be derived from, which is a finding', async () => {
    const event = { stream: 'account-1', revision: 3, type: 'AccountCredited' };
    const scrub = scrubOf({ events: 4, poison: poisonAt(event) });
    await scrub.pass();
    expect(scrub.done.at(-1)).to.equal('drop');
    expect(scrub.state()?.alarm?.findings.first[0]).to.include({ part: 'books', subject: 'account-1 3' });
  });
});

function poisonAt(fields: { readonly stream: string; readonly revision: number; readonly type: string }) {
  const event = {
    ...fields,
    id: 'id',
    data: '{}',
    metadata: '{}',
    position: '7',
    recordedAt: new Date(BEGIN),
  };
  return Object.assign(Object.create(PoisonEventError.prototype) as PoisonEventError, {
    event,
    message: 'no',
  });
}

interface Options {
  readonly events: number;
  readonly state?: ScrubState;
  readonly passMs?: number;
  readonly faults?: readonly (typeof FAULT)[];
  readonly endFaults?: readonly (Omit<typeof FAULT, 'stream'> & { readonly stream: string | null })[];
  readonly discrepancies?: Report['discrepancies'];
  readonly poison?: PoisonEventError;
  readonly derivingMs?: number;
  /** What each page of a stretch takes, and how many there are. */
  readonly pageMs?: number;
  readonly pages?: number;
}

/** A log and books that take the time they are given; the clock advances by the wait that each turn asks for. */
function scrubOf({
  events,
  passMs = DAY_MS,
  faults = [],
  endFaults = [],
  discrepancies = [],
  pageMs = 0,
  pages = 1,
  derivingMs = 0,
  ...rest
}: Options) {
  const done: string[] = [];
  const rests: number[] = [];
  let machineMs = 0;
  let { state } = rest;
  let nowMs = BEGIN;
  let begunMs = BEGIN;
  let derived = 0;
  const dependencies: ScrubDependencies = {
    passMs,
    signal: new AbortController().signal,
    time: {
      nowMs: () => machineMs,
      async wait(forMs) {
        rests.push(forMs);
        machineMs += forMs;
      },
    },
    places: async () => [
      { appId: 'app_1', environment: 'test' },
      { appId: 'app_1', environment: 'live' },
    ],
    log: {
      end: async () => ({ end: events > 0 ? placeAt(events) : undefined, faults: endFaults }),
      async stretch(after, end, options) {
        const from = after?.ordinal ?? 0;
        const to = Math.min(from + options.events, end.ordinal);
        done.push(`verify ${from}-${to}`);
        for (let page = 0; page < pages; page++) {
          machineMs += pageMs;
          await options.rest();
        }
        return { reached: placeAt(to), faultCount: faults.length, faults };
      },
    },
    books: {
      async derive({ anew, events: most }) {
        if (rest.poison) throw rest.poison;
        machineMs += derivingMs;
        done.push(`derive ${anew ? 'anew' : 'on'}`);
        const from = anew ? 0 : derived;
        derived = Math.min(from + most, events);
        return { ordinal: derived, taken: derived - from, isAtEnd: derived - from < most };
      },
      async compare(place) {
        done.push(`compare ${place.appId} ${place.environment}`);
        return { ...EMPTY, ...place, ok: discrepancies.length === 0, discrepancies };
      },
      async drop() {
        done.push('drop');
      },
    },
  };
  const turn = async (): Promise<number> => {
    if (state && !state.pass) begunMs = nowMs;
    const next = await scrubTurn(dependencies, state, new Date(nowMs));
    state = next.state;
    nowMs += next.waitMs;
    return next.waitMs;
  };
  return {
    done,
    rests,
    state: () => state,
    turn,
    sinceBeginMs: () => nowMs - begunMs,
    /** Runs to the end of the current pass, or of the next. */
    async pass() {
      do await turn();
      while (state?.pass !== null || !state.lastPass);
    },
  };
}

const placeAt = (ordinal: number): ScrubPlace => ({
  ordinal,
  hash: '',
  position: `${ordinal}`,
  eventId: `id-${ordinal}`,
  recordedUntilMs: BEGIN,
});

const EMPTY: Omit<Report, keyof BooksPlace> = {
  ok: true,
  position: '7',
  checkedAt: '',
  mode: 'incremental',
  verifiedFrom: null,
  checks: [],
  inFlight: [],
  warnings: [],
  totals: [],
  discrepancies: [],
};
