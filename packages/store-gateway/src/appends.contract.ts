import { randomUUID } from 'node:crypto';
import type { EventStore } from '@coffer/event-store';
import { type AppendRule, appendRules, streamName } from '@coffer/event-store/testing';
import { failureOf } from '@coffer/testing';
import {
  type AppendExpectedRevision,
  binaryEvent,
  type EventData,
  jsonEvent,
  MaxAppendSizeExceededError,
  UnknownError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { expect } from 'chai';
import { eventsOf, happened, happenedTimes, revisionsOf } from './testing/events.ts';
import { credentials, openWorld, type World } from './testing/gatewayWorld.ts';

const WORDS = { noStream: 'no_stream', streamExists: 'stream_exists', any: 'any' } as const;

const expectedOf = (expected: AppendRule['expectedRevision']): AppendExpectedRevision =>
  typeof expected === 'number' ? BigInt(expected) : WORDS[expected];

/** The protocol has no way to name the event at the expected revision. */
const rules = appendRules.filter(({ expectedLastEvent }) => expectedLastEvent === undefined);

export function appendsContract(makeStore: () => Promise<EventStore>): void {
  for (const [path, perCall] of [
    ['BatchAppend', {}],
    // Clients choose it for calls with their own credentials.
    ['Append', { credentials: { username: credentials.user, password: credentials.password } }],
  ] as const) {
    describe(`an append by the method ${path}`, () => {
      let world: World;
      let store: EventStore;
      before(async () => {
        store = await makeStore();
        world = await openWorld({ store });
      });
      after(async () => {
        await world.close();
        await store.close();
      });

      const append = (
        stream: string,
        events: EventData[],
        expectedRevision: AppendExpectedRevision = 'any',
      ) => world.client.appendToStream(stream, events, { expectedRevision, ...perCall });
      const read = (stream: string) => eventsOf(world.client.readStream(stream));

      for (const rule of rules) it(rule.rule, () => holdsRule(rule));

      async function holdsRule({ given, givenElsewhere, expectedRevision, events, outcome }: AppendRule) {
        const ids = new Map<string, string>();
        const lettered = (letter: string): EventData => {
          const id = ids.get(letter) ?? randomUUID();
          ids.set(letter, id);
          return happened(letter, id);
        };
        const stream = streamName();
        const fill = async (name: string, letters: readonly string[]) => {
          for (const [index, letter] of letters.entries()) {
            await append(name, [lettered(letter)], index === 0 ? 'no_stream' : BigInt(index - 1));
          }
        };
        await fill(stream, given);
        await fill(streamName(), givenElsewhere ?? []);

        const request = [stream, events.map(lettered), expectedOf(expectedRevision)] as const;
        if ('wrongRevision' in outcome) {
          const error = await failureOf(append(stream, events.map(lettered), expectedOf(expectedRevision)));
          expect(error).to.be.instanceOf(WrongExpectedVersionError);
          const { actual } = outcome.wrongRevision;
          expect(error).to.include({
            streamName: stream,
            expectedVersion: expectedOf(expectedRevision),
            actualVersion: actual === undefined ? 'no_stream' : BigInt(actual),
          });
        } else if ('logRewritten' in outcome) expect.fail('The protocol has no way to express this.');
        else {
          const revision = 'appendedAt' in outcome ? outcome.appendedAt : outcome.foundAt;
          const result = await append(request[0], request[1], request[2]);
          const last = (await read(stream))[revision];
          expect(result).to.deep.equal({
            success: true,
            nextExpectedRevision: BigInt(revision),
            position: last?.position,
          });
        }
        const written = 'appendedAt' in outcome ? events : [];
        const found = given.length + written.length > 0 ? await read(stream) : [];
        expect(found.map(({ id }) => id)).to.deep.equal(
          [...given, ...written].map((letter) => ids.get(letter)),
        );
      }

      for (const [given, expected, outcome] of [
        [0, 'any', undefined],
        [0, 'no_stream', undefined],
        [0, 'stream_exists', 'wrong'],
        [0, 0n, 'wrong'],
        [2, 'any', 1n],
        [2, 'stream_exists', 1n],
        [2, 1n, 1n],
        [2, 'no_stream', 'wrong'],
        [2, 0n, 'wrong'],
        [2, 2n, 'wrong'],
      ] as const) {
        it(`of no event to a stream of ${given} at ${expected} comes to ${outcome ?? 'no stream'}`, async () => {
          const stream = streamName();
          if (given > 0) await append(stream, happenedTimes(given));
          if (outcome === 'wrong') {
            const error = await failureOf(append(stream, [], expected));
            expect(error).to.be.instanceOf(WrongExpectedVersionError);
          } else {
            const result = await append(stream, [], expected);
            // The client reports 0 for a missing revision.
            expect(result).to.deep.equal({
              success: true,
              nextExpectedRevision: outcome ?? 0n,
              position: undefined,
            });
          }
          const found = given > 0 ? await read(stream) : [];
          expect(found).to.have.length(given);
        });
      }

      it('that is repeated with one id in all its events is found at the first, or at the expected revision', async () => {
        const stream = streamName();
        const event = happened('this');
        const events = Array(6).fill(event);
        const revisions: bigint[] = [];
        for (const expected of ['any', 'any', 'no_stream'] as const) {
          const result = await append(stream, events, expected);
          const { nextExpectedRevision: revision } = result;
          revisions.push(revision);
          expect(result.position).to.deep.equal((await read(stream))[Number(revision)]?.position);
        }
        expect(revisions).to.deep.equal([5n, 0n, 5n]);
        expect(await read(stream)).to.have.length(6);
      });

      it('keeps the texts of data and metadata byte for byte', async () => {
        const stream = streamName();
        const text = '{ "z": "é🎲", "a":1.50, "a":2, "big":123456789012345678901234567890 }';
        const bytes = Buffer.from(text);
        await append(stream, [binaryEvent({ type: 'Kind é🎲', data: bytes, metadata: bytes })]);
        for await (const [event] of store.readStream(stream)) {
          expect(event).to.include({ type: 'Kind é🎲', data: text, metadata: text });
        }
      });

      it('without metadata is returned without, and with an empty object is returned with one', async () => {
        const stream = streamName();
        const event = { type: 'Happened', data: {} };
        await append(stream, [jsonEvent(event), jsonEvent({ ...event, metadata: {} })]);
        expect((await read(stream)).map(({ metadata }) => metadata)).to.deep.equal([undefined, {}]);
        // What other readers of the store take for JSON is JSON.
        for await (const events of store.readStream(stream)) {
          expect(events.map(({ metadata }) => JSON.parse(metadata))).to.deep.equal([{}, {}]);
        }
      });

      it('of many events is written as a whole', async () => {
        const stream = streamName();
        await append(
          stream,
          Array.from({ length: 1_500 }, (_, index) => happened(index)),
        );
        expect((await read(stream)).map(({ data }) => data)).to.deep.equal(
          Array.from({ length: 1_500 }, (_, index) => ({ what: `${index}` })),
        );
      });

      it('that is too large is refused with the limit, and none of it is written', async () => {
        const stream = streamName();
        const sized = (bytes: number) => happened('x'.repeat(bytes));
        await append(stream, [sized(1_000_000)]);
        for (const events of [[sized(1024 * 1024)], [sized(600_000), sized(600_000)], [sized(9_000_000)]]) {
          const error = await failureOf(append(stream, events));
          expect(error).to.be.instanceOf(MaxAppendSizeExceededError);
          expect(error).to.include({ maxAppendSize: 1024 * 1024 });
        }
        expect(revisionsOf(await read(stream))).to.deep.equal([0]);
      });

      for (const [mistake, event, says] of [
        ['an id that is not a UUID', jsonEvent({ id: 'seven', type: 'T', data: {} }), /is not a UUID/],
        ['no type', jsonEvent({ type: '', data: {} }), /An event type must be/],
        ['data that is not text', binaryEvent({ type: 'T', data: Buffer.from([0xff]) }), /must be UTF-8/],
        ['data that is not JSON', binaryEvent({ type: 'T', data: Buffer.from('{') }), /a JSON object/],
        ['data that is not a JSON object', jsonEvent({ type: 'T', data: [1] }), /a JSON object/],
        [
          'metadata that is not a JSON object',
          jsonEvent({ type: 'T', data: {}, metadata: [1] }),
          /a JSON object/,
        ],
      ] as const) {
        it(`of an event with ${mistake} is refused, while others are accepted`, async () => {
          const stream = streamName();
          // The types forbid metadata that is a list; this spec sends it deliberately.
          const refused = failureOf(append(stream, [happened('good'), event as EventData]));
          await append(streamName(), [happened('beside')]);
          expect(await refused)
            .to.be.instanceOf(UnknownError)
            .and.match(says);
          expect((await store.heads([stream]))[0]).to.equal(undefined);
        });
      }
    });
  }
}
