import type { RecordedEvent } from '@coffer/event-store';
import { isOurStream } from '@coffer/kernel';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Block } from './blocks.ts';
import { createFaultList, type Fault, MAX_LISTED_FAULTS } from './faults.ts';
import {
  asStored,
  at,
  brief,
  chained,
  chainOf,
  changed,
  FORGED_ID,
  logOf,
  METADATA,
  nameOf,
  OWNER,
  ofChain,
  ofOthers,
  reportOf,
  rules,
  storeOf,
  swapped,
  withForgery,
  without,
} from './testing/tamperedLog.ts';
import { type VerificationReport, verifyLog } from './verifyLog.ts';

const { signal } = new AbortController();

/** The report, the same whether the blocks come from memory or from the database. */
async function verified(
  events: readonly RecordedEvent[],
  blocks: readonly Block[],
  isWanted: (stream: string) => boolean = () => true,
): Promise<VerificationReport> {
  const [report, ofStored] = await Promise.all(
    [blocks, blocks.map(asStored)].map((ones) =>
      reportOf(verifyLog({ store: storeOf(events), chain: chainOf(ones), rules, isWanted, signal })),
    ),
  );
  expect(ofStored).to.deep.equal(report);
  return report ?? expect.fail('There are two reports.');
}

describe('the verification of the log', () => {
  const events = logOf([1, 2, 1, 3, 2, 1, 1, 2, 3, 1]);
  const blocks = chained(events);

  it('finds nothing in a log as it was written, chained in blocks of any size', async () => {
    for (const size of [1, 2, 3, 10, 11]) {
      const report = await verified(events, chained(events, size));
      expect(report).to.deep.include({ events: 10, unchained: 0, faultCount: 0, faults: [] });
      expect(report.head?.ordinal).to.equal(10);
    }
    expect(await verified([], [])).to.deep.include({ events: 0, head: undefined, faultCount: 0 });
  });

  it('counts what is not chained yet, and reads it all the same', async () => {
    const report = await verified(events, chained(events.slice(0, 7)));
    expect(report).to.include({ unchained: 3, faultCount: 0 });
    const tail = changed(events, 9, (event) => ({ ...event, data: '{}' }));
    expect(brief(await verified(tail, chained(events.slice(0, 7))))).to.deep.equal(['undecodable 9']);
  });

  describe('names', () => {
    const alterations: readonly [what: string, change: (event: RecordedEvent) => RecordedEvent][] = [
      ['data', (event) => ({ ...event, data: event.data.replace('"amount":"1"', '"amount":"9"') })],
      ['metadata', (event) => ({ ...event, metadata: METADATA.replace('operator', 'key:1') })],
      ['type', (event) => ({ ...event, type: 'CoinTaken' })],
      ['stream', (event) => ({ ...event, stream: nameOf(9) })],
      ['revision', (event) => ({ ...event, revision: event.revision + 5 })],
      ['id', (event) => ({ ...event, id: FORGED_ID })],
    ];
    for (const [what, change] of alterations) {
      it(`an event whose ${what} was altered, the last as well`, async () => {
        for (const ordinal of [1, 4, 5, 10]) {
          const report = await verified(changed(events, ordinal, change), blocks);
          expect(ofChain(report), `ordinal ${ordinal}`).to.deep.equal([`altered ${ordinal}`]);
          const original = events[ordinal - 1];
          const { id, stream, revision } = report.faults[0] ?? {};
          expect({ id, stream, revision }).to.deep.equal({
            id: original?.id,
            stream: original?.stream,
            revision: original?.revision,
          });
        }
      });
    }

    it('an event that was removed: the first, one in the middle, the last, with its hole or closed up', async () => {
      for (const ordinal of [1, 5, 10]) {
        const left = without(events, ordinal);
        const closedUp = left.map((event, index) => ({ ...event, position: at(index + 1) }));
        for (const tampered of [left, closedUp]) {
          const report = await verified(tampered, blocks);
          expect(ofChain(report)).to.deep.equal([`missing ${ordinal}`]);
          expect(report.faults[0]?.id).to.equal(events[ordinal - 1]?.id);
        }
        if (ordinal < 10) expect(brief(await verified(left, blocks))).to.include(`position_gap ${ordinal}`);
      }
    });

    it('nothing of what another user of the server has written in between, and a gap next to it', async () => {
      const shared = [...events.slice(0, 4), ...ofOthers(3), ...events.slice(4)].map((event, index) => ({
        ...event,
        position: at(index + 1),
      }));
      const ours = shared.filter(({ stream }) => isOurStream(stream));
      expect((await verified(shared, chained(ours))).faults).to.deep.equal([]);
      const holed = shared.filter(({ position }) => position !== '6');
      expect(brief(await verified(holed, chained(ours)))).to.deep.equal(['position_gap 5']);
    });

    it('an inserted event, and those of its stream that it has moved', async () => {
      const report = await verified(withForgery(events, 4), blocks);
      expect(report.faults[0]).to.include({ kind: 'inserted', ordinal: 4, id: FORGED_ID });
      expect(ofChain(report)).to.deep.equal(['inserted 4', 'altered 6', 'altered 7', 'altered 10']);
      expect(brief(report)).to.include('unfoldable 4');
    });

    it('an event that was added at the end, by the rules of its stream', async () => {
      const forged = { ...events[9], id: FORGED_ID, revision: 5, position: at(11) } as RecordedEvent;
      const report = await verified([...events, forged], blocks);
      expect(report.unchained).to.equal(1);
      expect(brief(report)).to.deep.equal(['unfoldable 11']);
    });

    it('two events that have changed places, near or far', async () => {
      for (const [left, right] of [
        [4, 5],
        [2, 8],
        [1, 10],
      ] as const) {
        const found = ofChain(await verified(swapped(events, left, right), blocks));
        expect(found).to.deep.equal([`moved ${left}`, `moved ${right}`]);
      }
    });

    it('an event that was replaced by another, the last as well', async () => {
      for (const ordinal of [5, 10]) {
        const replaced = changed(events, ordinal, (event) => ({
          ...event,
          id: FORGED_ID,
          type: 'CoinTaken',
        }));
        const found = ofChain(await verified(replaced, blocks));
        expect(found).to.deep.equal([`missing ${ordinal}`, `inserted ${ordinal}`]);
      }
    });

    it('an event whose recorded time is another in the log than in the chain, whichever was changed', async () => {
      const recordedAt = new Date('2025-12-31T23:59:59.999Z');
      for (const ordinal of [1, 5, 10]) {
        const inLog = changed(events, ordinal, (event) => ({ ...event, recordedAt }));
        // The whole chain is rebuilt, so that it does not contradict itself.
        for (const [log, kept] of [
          [inLog, blocks],
          [events, chained(inLog)],
        ] as const) {
          const report = await verified(log, kept);
          expect(brief(report)).to.deep.equal([`misdated ${ordinal}`]);
          expect(report.faults[0]?.id).to.equal(events[ordinal - 1]?.id);
        }
      }
    });

    it('no time of a log that was carried from another store, and says how much of it that is', async () => {
      const carried = events.slice(0, 6).map((event) => ({ ...event, recordedAt: new Date() }));
      const log = [...carried, ...events.slice(6)];
      const report = await reportOf(
        verifyLog({ store: storeOf(log), chain: chainOf(blocks, 6), rules, signal }),
      );
      expect(report).to.deep.include({ carried: 6, faults: [] });
      const shifted = changed(log, 7, (event) => ({ ...event, recordedAt: new Date() }));
      const found = await reportOf(
        verifyLog({ store: storeOf(shifted), chain: chainOf(blocks, 6), rules, signal }),
      );
      expect(brief(found)).to.deep.equal(['misdated 7']);
    });

    it('the event that was recorded the furthest from the time that it tells itself', async () => {
      const recordedAt = new Date('2025-12-31T23:59:59.999Z');
      const both = changed(events, 7, (event) => ({ ...event, recordedAt }));
      const report = await verified(both, chained(both));
      expect(report.faultCount).to.equal(0);
      expect(report.furthestTimes).to.deep.equal({
        ordinal: 7,
        id: events[6]?.id,
        occurredAt: '2026-01-31T12:00:00.000Z',
        recordedAt: '2025-12-31T23:59:59.999Z',
      });
    });

    it('the hole that a removed event leaves in its stream', async () => {
      expect(brief(await verified(without(events, 6), blocks))).to.include('revision_gap 6');
    });

    it('an event of a type, a version or a stream that this release does not know', async () => {
      const changes: readonly ((event: RecordedEvent) => RecordedEvent)[] = [
        (event) => ({ ...event, type: 'CoinTaken' }),
        (event) => ({ ...event, metadata: METADATA.replace('"v":1', '"v":2') }),
        (event) => ({ ...event, stream: `urn-test.${OWNER}.1`, revision: 0 }),
        (event) => ({ ...event, stream: 'urn-live.scp_01jee1wzwqeh1rx3w2d3k4m5n6.1', revision: 0 }),
      ];
      for (const change of changes) {
        expect(brief(await verified(changed(events, 10, change), []))).to.deep.equal(['unknown_event 10']);
      }
    });

    it('several things at once, each by itself', async () => {
      const altered = changed(events, 2, (event) => ({ ...event, metadata: '{"v":1}' }));
      const report = await verified(without(altered, 8), blocks);
      expect(ofChain(report)).to.deep.equal(['altered 2', 'missing 8']);
      expect(brief(report)).to.include('undecodable 2');
    });

    it('more removed events than it looks ahead', async () => {
      const many = logOf(Array.from({ length: 5_000 }, (_, index) => index));
      const left = [...many.slice(0, 100), ...many.slice(3_100)];
      const report = await verified(left, chained(many, 1_000));
      expect(report.faults).to.have.length(MAX_LISTED_FAULTS);
      expect(report.faults[0]).to.include({ kind: 'missing', ordinal: 101 });
      expect(report.faultCount).to.equal(3_000 + 1);
    });
  });

  describe('names what was done to the chain itself', () => {
    const tampered = (index: number, change: (block: Block) => Block) =>
      blocks.map((block, number) => (number === index ? change(block) : block));
    const other = Buffer.alloc(32, 7);

    it('a block that was removed, of which the log is still known to be right or not', async () => {
      for (const index of [0, 1]) {
        const left = blocks.toSpliced(index, 1);
        const first = index * 3 + 1;
        expect(ofChain(await verified(events, left))).to.deep.equal([`chain_broken ${first}`]);
        const altered = changed(events, first + 1, (event) => ({
          ...event,
          metadata: METADATA.replace('r', 'q'),
        }));
        expect(ofChain(await verified(altered, left))).to.deep.equal([
          `chain_broken ${first}`,
          `chain_broken ${first + 2}`,
        ]);
      }
    });

    const changes: readonly [what: string, ordinal: number, change: (block: Block) => Block][] = [
      ['the hash before it', 4, (block) => ({ ...block, hashBefore: other })],
      ['the position', 6, (block) => ({ ...block, lastPosition: at(5) })],
      ['a time', 4, (block) => ({ ...block, recordedUntilMs: block.recordedUntilMs + 1 })],
      ['its first ordinal', 4, (block) => ({ ...block, firstOrdinal: 5, contradiction: 'its ordinals' })],
      [
        'the hash of an event',
        5,
        (block) => ({
          ...block,
          entries: block.entries.map((entry, index) => (index === 1 ? { ...entry, hash: other } : entry)),
        }),
      ],
      [
        'the id of an event',
        5,
        (block) => ({
          ...block,
          entries: block.entries.map((entry, index) => (index === 1 ? { ...entry, id: FORGED_ID } : entry)),
        }),
      ],
      [
        'the stream of an event',
        5,
        (block) => ({
          ...block,
          entries: block.entries.map((entry, index) => (index === 1 ? { ...entry, stream: 's' } : entry)),
        }),
      ],
      [
        'the revision of an event',
        5,
        (block) => ({
          ...block,
          entries: block.entries.map((entry, index) => (index === 1 ? { ...entry, revision: 7 } : entry)),
        }),
      ],
    ];
    for (const [what, ordinal, change] of changes) {
      it(`a block of which ${what} was changed`, async () => {
        expect(ofChain(await verified(events, tampered(1, change)))).to.deep.equal([
          `chain_broken ${ordinal}`,
        ]);
      });
    }
  });

  it('names first whatever was done to any log', async () => {
    const tampering = fc
      .array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 30 })
      .chain((jars) =>
        fc.record({
          jars: fc.constant(jars),
          ordinal: fc.integer({ min: 1, max: jars.length }),
          other: fc.integer({ min: 1, max: jars.length }),
          blockEvents: fc.integer({ min: 1, max: 12 }),
          what: fc.constantFrom('alter', 'remove', 'put in', 'swap'),
        }),
      );
    await fc.assert(
      fc.asyncProperty(tampering, async ({ jars, ordinal, other, blockEvents, what }) => {
        const log = logOf(jars);
        const kept = chained(log, blockEvents);
        const expectFirst = async (
          left: readonly RecordedEvent[],
          kinds: readonly string[],
          first: number,
        ) => {
          const report = await verified(left, kept);
          const [fault] = report.faults.filter(({ kind }) => kinds.includes(kind));
          expect(fault?.ordinal, JSON.stringify(report.faults)).to.equal(first);
          expect(Math.min(...report.faults.map((one) => one.ordinal))).to.equal(first);
        };
        if (what === 'alter') {
          const altered = changed(log, ordinal, (event) => ({
            ...event,
            metadata: METADATA.replace('r', 's'),
          }));
          await expectFirst(altered, ['altered'], ordinal);
        } else if (what === 'remove') {
          await expectFirst(without(log, ordinal), ['missing'], ordinal);
        } else if (what === 'put in') {
          if (ordinal > 1) await expectFirst(withForgery(log, ordinal), ['inserted'], ordinal);
        } else if (ordinal !== other) {
          const report = await verified(swapped(log, ordinal, other), kept);
          const places = [ordinal, other].toSorted((left, right) => left - right);
          expect(ofChain(report)).to.deep.equal(places.map((place) => `moved ${place}`));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('looks only at the streams that are wanted, and always at the whole chain', async () => {
    const altered = changed(events, 2, (event) => ({ ...event, data: '{}' }));
    const onlyFirst = (stream: string) => stream === nameOf(1);
    expect(brief(await verified(altered, blocks, onlyFirst))).to.deep.equal(['altered 2']);
  });

  it('folds what was there when it began, and names the event that does not follow at its own place', async () => {
    const odd = { amount: '2', balance: '4' };
    const tampered = changed(events, 7, (event) => ({ ...event, data: JSON.stringify(odd) }));
    const report = await verified(tampered, []);
    expect(brief(report)).to.deep.equal(['unfoldable 7']);
    const { stream, revision, id } = events[6] ?? {};
    expect(report.faults[0]).to.include({ stream, revision, id, reason: 'the balance does not follow' });

    const head = { position: at(6), eventId: events[5]?.id ?? '' };
    const store = { ...storeOf(tampered), head: async () => head };
    const earlier = verifyLog({ store, chain: chainOf([]), rules, signal });
    expect(await reportOf(earlier)).to.include({ events: 6, faultCount: 0 });
  });

  it('lists the first hundred faults in the order of the log, and counts all', () => {
    const list = createFaultList();
    const fault = (ordinal: number): Fault => ({
      kind: 'altered',
      ordinal,
      stream: null,
      revision: null,
      id: null,
      reason: '',
    });
    for (let ordinal = 1_000; ordinal > 0; ordinal--) list.add(fault(ordinal));
    expect(list.count()).to.equal(1_000);
    expect(list.listed().map(({ ordinal }) => ordinal)).to.deep.equal(
      Array.from({ length: MAX_LISTED_FAULTS }, (_, index) => index + 1),
    );
  });
});
