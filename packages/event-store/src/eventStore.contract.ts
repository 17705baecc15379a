/** What every event store must do on any backend: each adapter's spec runs this suite. */

import { randomUUID } from 'node:crypto';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import {
  EventTooLargeError,
  InvalidAppendError,
  LogRewrittenError,
  StoreOverloadedError,
  WrongExpectedRevisionError,
} from './errors.ts';
import { type AppendRequest, type EventStore, MAX_APPEND_BYTES, type Position } from './port.ts';
import { readingContract, wholeLogContract } from './reading.contract.ts';
import { rewindingContract, subscriptionContract } from './subscription.contract.ts';
import { type AppendRule, appendRules } from './testing/appendRules.ts';
import type { ContractOptions, EventStoreHarness, MakeHarness } from './testing/eventStoreHarness.ts';
import { allOf, idsOf, newEvent, newEvents, streamName } from './testing/events.ts';

export function eventStoreContract(
  name: string,
  makeHarness: MakeHarness,
  { ownsItsLog = true }: ContractOptions = {},
): void {
  describe(`event store: ${name}`, () => {
    let harness: EventStoreHarness;
    let store: EventStore;
    before(async () => {
      harness = await makeHarness();
      store = harness.store;
    });
    after(() => harness.close());

    const contentsOf = async (stream: string) => idsOf(await allOf(store.readStream(stream)));

    describe('the outcome of an append', () => {
      for (const rule of appendRules) it(rule.rule, () => holdsRule(store, rule));
    });

    describe('an append', () => {
      it('gives every event its revision, a higher position than all before, and a time', async () => {
        const stream = streamName();
        const before = Date.now();
        const [first, second] = [newEvent({ type: 'First' }), newEvent({ type: 'Second' })];
        const one = await store.append({ stream, expectedRevision: 'noStream', events: [first] });
        const two = await store.append({ stream, expectedRevision: 0, events: [second] });
        const events = await allOf(store.readStream(stream));
        expect(events.map(({ recordedAt, ...event }) => event)).to.deep.equal([
          { ...first, stream, revision: 0, position: one.position },
          { ...second, stream, revision: 1, position: two.position },
        ]);
        expect(store.comparePositions(one.position, two.position)).to.be.lessThan(0);
        expect(store.comparePositions(two.position, one.position)).to.be.greaterThan(0);
        expect(store.comparePositions(one.position, one.position)).to.equal(0);
        for (const { recordedAt } of events) {
          // The store's clock may differ from ours.
          expect(Math.abs(recordedAt.getTime() - before)).to.be.lessThan(60_000);
        }
      });

      it('writes all of its events or none', async () => {
        const stream = streamName();
        const events = newEvents(200);
        await store.append({ stream, expectedRevision: 'noStream', events });
        expect(await contentsOf(stream)).to.deep.equal(idsOf(events));
        const refused = [...newEvents(200)];
        await failureOf(store.append({ stream, expectedRevision: 100, events: refused }));
        expect(await contentsOf(stream)).to.deep.equal(idsOf(events));
      });

      it('returns data and metadata byte for byte', async () => {
        const texts = [
          JSON.stringify({ z: 'é🎲 漢\u2028', a: 'lone \ud800 surrogate', nul: '\0' }),
          JSON.stringify({ tiny: 1e-7, large: 1e21, exact: '123456789012345678901234567890.10' }),
          JSON.stringify({ b: [{ z: null, y: [] }, true], a: { '': {}, constructor: 1 } }),
          '{"__proto__":{"a":1},"a":"\\"\\\\{}\\u0000"}',
          '{}',
          JSON.stringify({ long: 'é🎲"\\\n'.repeat(20_000) }),
        ];
        const stream = streamName();
        const events = texts.map((text, index) =>
          newEvent({ type: `Kind ${index} é🎲`, data: text, metadata: text }),
        );
        await store.append({ stream, expectedRevision: 'noStream', events });
        const stored = await allOf(store.readStream(stream));
        expect(stored.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }))).to.deep.equal(
          events,
        );
      });

      it('keeps or refuses a text that JSON.stringify would write differently, but never changes it', async () => {
        const texts = [
          '{"b":1,"a":2,"b":3}',
          '{"b":1,"1":2}',
          '{"amount":123456789012345678901234567890.10}',
          '{"huge":1e400,"nothing":-0}',
          '{ "spaces" :\t"kept" }',
          '{"escaped":"\\u0041\\/"}',
        ];
        for (const text of texts) {
          for (const fields of [{ data: text }, { metadata: text }]) {
            const stream = streamName();
            const event = newEvent(fields);
            const [result] = await Promise.allSettled([
              store.append({ stream, expectedRevision: 'noStream', events: [event] }),
            ]);
            const stored = await allOf(store.readStream(stream));
            if (result?.status === 'rejected') {
              expect(harness.refusesOtherJsonTexts, text).to.equal(true);
              expect(result.reason).to.be.instanceOf(InvalidAppendError);
              expect(stored).to.deep.equal([]);
            } else {
              expect(stored.map(({ data, metadata }) => ({ data, metadata }))).to.deep.equal([
                { data: event.data, metadata: event.metadata },
              ]);
            }
          }
        }
      });

      it('recognizes an event id in upper or lower case', async () => {
        const stream = streamName();
        const id = 'ABCDEF12-3456-4789-8ABC-DEF012345678';
        const request: AppendRequest = { stream, expectedRevision: 'noStream', events: [newEvent({ id })] };
        await store.append(request);
        expect((await store.append(request)).alreadyAppended).to.equal(true);
        expect((await store.heads([stream]))[0]?.eventId).to.equal(id.toLowerCase());
        await store.append({ stream, expectedRevision: 0, expectedLastEventId: id, events: newEvents(1) });
      });

      it('keeps apart streams whose names differ only by case, accent or length', async () => {
        const stem = streamName();
        const names = [stem, `${stem}a`, `${stem}A`, `${stem}á`, `${stem}aa`];
        for (const stream of names) {
          await store.append({ stream, expectedRevision: 'noStream', events: newEvents(1) });
        }
        expect((await store.heads(names)).map((head) => head?.revision)).to.deep.equal([0, 0, 0, 0, 0]);
      });

      it('accepts one as large as the limit, and refuses a larger one with nothing written', async () => {
        const stream = streamName();
        const empty = newEvent({ data: '{"text":""}' });
        const rest =
          MAX_APPEND_BYTES -
          [empty.id, empty.type, empty.data, empty.metadata].reduce((sum, { length }) => sum + length, 0);
        const sized = (bytes: number) => newEvent({ data: `{"text":"${'x'.repeat(bytes)}"}` });
        await store.append({ stream, expectedRevision: 'noStream', events: [sized(rest)] });

        const tooLarge = await failureOf(
          store.append({ stream, expectedRevision: 0, events: [sized(rest + 1)] }),
        );
        expect(tooLarge).to.be.instanceOf(EventTooLargeError);
        const together = await failureOf(
          store.append({ stream, expectedRevision: 0, events: [sized(rest / 2), sized(rest / 2)] }),
        );
        expect(together).to.be.instanceOf(EventTooLargeError);
        expect((await store.heads([stream]))[0]?.revision).to.equal(0);
      });

      const good = { expectedRevision: 'noStream' } as const;
      const mistakes: readonly (readonly [string, Omit<AppendRequest, 'stream'>])[] = [
        ['no event', { ...good, events: [] }],
        ['an id that is not a UUID', { ...good, events: [newEvent({ id: 'not-a-uuid' })] }],
        ['a NUL in a type', { ...good, events: [newEvent({ type: 'Nul\0' })] }],
        ['an empty type', { ...good, events: [newEvent({ type: '' })] }],
        ['a NUL in the data', { ...good, events: [newEvent({ data: '{"a":"\0"}' })] }],
        ['half a character in the data', { ...good, events: [newEvent({ data: '{"a":"\ud800"}' })] }],
        ['half a character in the metadata', { ...good, events: [newEvent({ metadata: '{"a":"\udc00"}' })] }],
        ['a NUL in the second metadata', { ...good, events: [newEvent(), newEvent({ metadata: '"\0"' })] }],
        ['a negative revision', { expectedRevision: -1, events: newEvents(1) }],
        ['a broken revision', { expectedRevision: 0.5, events: newEvents(1) }],
        [
          'an expected event that is not a UUID',
          { expectedRevision: 0, expectedLastEventId: 'x', events: newEvents(1) },
        ],
        [
          'an expected event where no revision is expected',
          { ...good, expectedLastEventId: randomUUID(), events: newEvents(1) },
        ],
      ];
      it('with a mistake in it fails alone, not its neighbours', async () => {
        const appends = mistakes.map(([mistake, request]) => {
          const stream = streamName();
          return {
            mistake,
            stream,
            neighbour: store.append({
              stream: streamName(),
              expectedRevision: 'noStream',
              events: newEvents(1),
            }),
            failure: failureOf(store.append({ stream, ...request })),
          };
        });
        for (const { mistake, stream, neighbour, failure } of appends) {
          expect(await failure, mistake).to.be.instanceOf(InvalidAppendError);
          expect((await neighbour).alreadyAppended).to.equal(false);
          expect(await contentsOf(stream), mistake).to.deep.equal([]);
        }
      });

      it('to a stream with an empty name, or half a character in its name, is invalid', async () => {
        for (const stream of ['', 'nul\0', 'half \ud800']) {
          const request: AppendRequest = { stream, expectedRevision: 'any', events: newEvents(1) };
          expect(await failureOf(store.append(request))).to.be.instanceOf(InvalidAppendError);
        }
      });

      it('that is refused does not affect those sent with it', async () => {
        const taken = streamName();
        await store.append({ stream: taken, expectedRevision: 'noStream', events: newEvents(1) });
        const results = await Promise.allSettled(
          Array.from({ length: 40 }, (_, index) =>
            store.append({
              stream: index % 4 === 0 ? taken : streamName(),
              expectedRevision: 'noStream',
              events: newEvents(2),
            }),
          ),
        );
        expect(results.map(({ status }) => status)).to.deep.equal(
          results.map((_, index) => (index % 4 === 0 ? 'rejected' : 'fulfilled')),
        );
      });

      it('is found again however much came after it, whichever process retries it', async () => {
        const stream = streamName();
        const request: AppendRequest = { stream, expectedRevision: 'noStream', events: newEvents(2) };
        const { revision, position } = await store.append(request);
        for (let last = revision; last < 3_000; last += 1_000) {
          await store.append({ stream, expectedRevision: last, events: newEvents(1_000) });
        }
        const found = { revision, position, alreadyAppended: true };
        expect(await harness.another().append(request)).to.deep.equal(found);
        expect(await store.append(request)).to.deep.equal(found);
      });

      it('is refused at once, with nothing written, when the queue has no room', async () => {
        const small = harness.another({ maxQueuedAppends: 4 });
        const streams = Array.from({ length: 64 }, streamName);
        const results = await Promise.allSettled(
          streams.map((stream) =>
            small.append({ stream, expectedRevision: 'noStream', events: newEvents(1) }),
          ),
        );
        const refused = results.filter((result) => result.status === 'rejected');
        expect(refused.length).to.be.within(1, 60);
        for (const { reason } of refused) expect(reason).to.be.instanceOf(StoreOverloadedError);
        const heads = await store.heads(streams);
        expect(heads.map((head) => (head ? 'fulfilled' : 'rejected'))).to.deep.equal(
          results.map(({ status }) => status),
        );
        // There is room again.
        await small.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(1) });
      });
    });

    describe('simultaneous appends', () => {
      it('have exactly one winner per revision, from whichever process', async () => {
        const stream = streamName();
        const stores = [store, harness.another(), harness.another()];
        for (const expectedRevision of ['noStream', 0, 1, 2] as const) {
          const attempts = Array.from({ length: 24 }, (_, index) => ({
            event: newEvent(),
            store: stores[index % stores.length] ?? store,
          }));
          const results = await Promise.allSettled(
            attempts.map((attempt) =>
              attempt.store.append({ stream, expectedRevision, events: [attempt.event] }),
            ),
          );
          const winners = attempts.filter((_, index) => results[index]?.status === 'fulfilled');
          expect(winners).to.have.length(1);
          for (const result of results) {
            if (result.status === 'fulfilled') continue;
            expect(result.reason).to.be.instanceOf(WrongExpectedRevisionError);
            expect(result.reason).to.include({ stream, expected: expectedRevision });
          }
          const revision = expectedRevision === 'noStream' ? 0 : expectedRevision + 1;
          expect((await store.heads([stream]))[0]).to.deep.equal({ revision, eventId: winners[0]?.event.id });
        }
      });

      it('to one stream in one process are written in the order of the calls', async () => {
        const stream = streamName();
        const events = newEvents(300);
        await Promise.all(
          events.map((event) => store.append({ stream, expectedRevision: 'any', events: [event] })),
        );
        expect(await contentsOf(stream)).to.deep.equal(idsOf(events));
      });

      it('have positions in commit order: one that began after another has a later position', async () => {
        const other = harness.another();
        let last: Position | undefined;
        for (let round = 0; round < 10; round++) {
          const results = await Promise.all(
            Array.from({ length: 20 }, (_, index) =>
              (index % 2 ? store : other).append({
                stream: streamName(),
                expectedRevision: 'noStream',
                events: newEvents(1 + (index % 3)),
              }),
            ),
          );
          const positions = results.map(({ position }) => position).sort(store.comparePositions);
          expect(new Set(positions).size).to.equal(positions.length);
          const [first] = positions;
          if (last && first) expect(store.comparePositions(last, first)).to.be.lessThan(0);
          last = positions.at(-1);
        }
      });

      it('of the same retry write its events once', async () => {
        const request: AppendRequest = {
          stream: streamName(),
          expectedRevision: 'noStream',
          events: newEvents(3),
        };
        const other = harness.another();
        const results = await Promise.all(
          Array.from({ length: 12 }, (_, index) => (index % 2 ? store : other).append(request)),
        );
        const first = results.filter(({ alreadyAppended }) => !alreadyAppended);
        expect(first.length).to.be.within(1, harness.tellsSimultaneousRetriesApart === false ? 12 : 1);
        for (const { revision, position } of results) {
          expect({ revision, position }).to.deep.equal({ revision: 2, position: results[0]?.position });
        }
        expect(await contentsOf(request.stream)).to.deep.equal(idsOf(request.events));
      });
    });

    readingContract(() => store);
    subscriptionContract(() => harness);
    if (ownsItsLog) {
      wholeLogContract(makeHarness);
      rewindingContract(makeHarness);
    }

    it('finishes what is queued before it closes, and accepts nothing afterwards', async () => {
      const closing = harness.another();
      const streams = Array.from({ length: 300 }, streamName);
      const appends = streams.map((stream) =>
        closing.append({ stream, expectedRevision: 'noStream', events: newEvents(1) }),
      );
      await closing.close();
      expect((await Promise.all(appends)).every(({ revision }) => revision === 0)).to.equal(true);
      expect((await store.heads(streams)).every((head) => head?.revision === 0)).to.equal(true);
      const late = closing.append({ stream: streamName(), expectedRevision: 'any', events: newEvents(1) });
      expect(await failureOf(late)).to.be.instanceOf(Error);
    });
  });
}

async function holdsRule(store: EventStore, rule: AppendRule): Promise<void> {
  const ids = new Map<string, string>();
  const idOf = (letter: string): string => {
    const id = ids.get(letter) ?? randomUUID();
    ids.set(letter, id);
    return id;
  };
  const fill = async (stream: string, letters: readonly string[]) => {
    for (const [index, letter] of letters.entries()) {
      const expectedRevision = index === 0 ? 'noStream' : index - 1;
      await store.append({ stream, expectedRevision, events: [newEvent({ id: idOf(letter) })] });
    }
  };
  const stream = streamName();
  await fill(stream, rule.given);
  await fill(streamName(), rule.givenElsewhere ?? []);
  const before = await allOf(store.readStream(stream));

  const attempt = store.append({
    stream,
    expectedRevision: rule.expectedRevision,
    events: rule.events.map((letter) => newEvent({ id: idOf(letter) })),
    ...(rule.expectedLastEvent === undefined ? {} : { expectedLastEventId: idOf(rule.expectedLastEvent) }),
  });
  const { outcome } = rule;
  if ('wrongRevision' in outcome) {
    const error = await failureOf(attempt);
    expect(error).to.be.instanceOf(WrongExpectedRevisionError);
    expect(error).to.include({
      stream,
      expected: rule.expectedRevision,
      actual: outcome.wrongRevision.actual,
    });
  } else if ('logRewritten' in outcome) {
    expect(await failureOf(attempt)).to.be.instanceOf(LogRewrittenError);
  } else {
    const result = await attempt;
    const revision = 'appendedAt' in outcome ? outcome.appendedAt : outcome.foundAt;
    const last = (await allOf(store.readStream(stream)))[revision];
    expect(result).to.deep.equal({
      revision,
      position: last?.position,
      alreadyAppended: 'foundAt' in outcome,
    });
  }

  const written = 'appendedAt' in outcome ? rule.events : [];
  const after = await allOf(store.readStream(stream));
  expect(after.slice(0, before.length)).to.deep.equal(before);
  expect(idsOf(after)).to.deep.equal([...rule.given, ...written].map(idOf));
}
