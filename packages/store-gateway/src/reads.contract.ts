import type { EventStore } from '@coffer/event-store';
import { newEvents, streamName } from '@coffer/event-store/testing';
import { type ReadStreamOptions, StreamNotFoundError } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials as channel } from '@grpc/grpc-js';
import { expect } from 'chai';
import {
  at,
  eventsOf,
  happened,
  happenedTimes,
  numbers,
  positionsOf,
  revisionsOf,
} from './testing/events.ts';
import { openWorld, type World } from './testing/gatewayWorld.ts';
import { streamIdentifier } from './wire.ts';

export function readsContract(makeStore: () => Promise<EventStore>): void {
  let world: World;
  let store: EventStore;
  const stream = streamName();
  const other = streamName();
  before(async () => {
    store = await makeStore();
    world = await openWorld({ store });
    // Positions 1 to 10 in one stream, 11 to 15 in the other.
    for (const index of numbers(10)) await world.client.appendToStream(stream, happened(index));
    await world.client.appendToStream(other, happenedTimes(5));
  });
  after(async () => {
    await world.close();
    await store.close();
  });

  describe('a read of a stream', () => {
    for (const [range, revisions] of [
      [{}, numbers(10)],
      [{ fromRevision: 'start', maxCount: 3 }, [0, 1, 2]],
      [{ fromRevision: 7n }, [7, 8, 9]],
      [{ fromRevision: 7n, maxCount: 1 }, [7]],
      [{ fromRevision: 10n }, []],
      [{ fromRevision: 2n ** 64n - 1n }, []],
      [{ fromRevision: 'end' }, []],
      [{ maxCount: 0 }, []],
      [{ direction: 'backwards', fromRevision: 'end' }, numbers(10).reverse()],
      [{ direction: 'backwards', fromRevision: 'end', maxCount: 1 }, [9]],
      [{ direction: 'backwards', fromRevision: 2n }, [2, 1, 0]],
      [{ direction: 'backwards', fromRevision: 99n, maxCount: 2 }, [9, 8]],
      [{ direction: 'backwards', fromRevision: 'start' }, [0]],
    ] as const) {
      const shown = Object.entries(range).map(([option, value]) => `${option} ${value}`);
      it(`with ${shown.join(', ') || 'no option'} gives [${revisions.join(' ')}]`, async () => {
        const events = await eventsOf(world.client.readStream(stream, range));
        expect(revisionsOf(events)).to.deep.equal(revisions);
        for (const { streamId } of events) expect(streamId).to.equal(stream);
      });
    }

    it('returns every event with its place, its time and its contents', async () => {
      const [recorded] = await eventsOf(world.client.readStream(stream, { maxCount: 1 }));
      for await (const [event] of store.readStream(stream, { limit: 1 })) {
        expect(recorded).to.deep.equal({
          streamId: stream,
          id: event?.id,
          revision: 0n,
          type: 'Happened',
          data: { what: '0' },
          metadata: undefined,
          isJson: true,
          created: new Date(event?.recordedAt.getTime() ?? 0),
          position: at(1),
        });
      }
    });

    const ends: readonly (readonly [
      ReadStreamOptions,
      { readonly first?: string; readonly last: string },
    ])[] = [
      [{}, { last: '9' }],
      [{ maxCount: 1 }, { last: '9' }],
      [{ maxCount: 0 }, { last: '9' }],
      [{ fromRevision: 9n }, { last: '9' }],
      [{ fromRevision: 10n }, { last: '9' }],
      // Where the client could have begun.
      [{ fromRevision: 12n }, { first: '10', last: '9' }],
      [{ direction: 'backwards' }, { last: '9' }],
      [{ direction: 'backwards', fromRevision: 3n }, { last: '9' }],
    ];
    for (const [range, told] of ends) {
      const { direction = 'forwards', fromRevision, maxCount = 1_000 } = range;
      it(`of ${direction} from ${fromRevision ?? 'its end'}, at most ${maxCount}, tells ${JSON.stringify(told)}`, async () => {
        const asked = (compatibility: number) => {
          const from = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(
            streamIdentifier(stream),
          );
          if (fromRevision !== undefined) from.setRevision(`${fromRevision}`);
          else if (direction === 'backwards') from.setEnd(new shared.Empty());
          return new streams.ReadReq.Options()
            .setStream(from)
            .setCount(`${maxCount}`)
            .setReadDirection(direction === 'backwards' ? 1 : 0)
            .setControlOption(new streams.ReadReq.Options.ControlOption().setCompatibility(compatibility));
        };
        const { StreamsClient } = streamsService;
        const client = new StreamsClient(`127.0.0.1:${world.port}`, channel.createInsecure());
        const toldWith = async (compatibility: number) => {
          const found: { first?: string; last?: string } = {};
          for await (const response of client.read(new streams.ReadReq().setOptions(asked(compatibility)))) {
            expect(found.last).to.equal(undefined);
            if (response.hasFirstStreamPosition()) found.first = response.getFirstStreamPosition();
            if (response.hasLastStreamPosition()) found.last = response.getLastStreamPosition();
          }
          return found;
        };
        expect(await toldWith(1)).to.deep.equal(told);
        // Clients that do not know these answers do not ask for them.
        expect(await toldWith(0)).to.deep.equal({});
        client.close();
      });
    }

    for (const missing of [streamName(), '$streams', '$$$all', `$$${stream}`, '$ce-spec', '$all']) {
      it(`named ${missing} finds no stream`, async () => {
        for (const options of [{}, { direction: 'backwards', fromRevision: 'end', maxCount: 1 }] as const) {
          const error = await eventsOf(world.client.readStream(missing, options)).catch((reason) => reason);
          expect(error).to.be.instanceOf(StreamNotFoundError);
        }
      });
    }

    it('finds no system stream, whatever the store has', async () => {
      const own = await makeStore();
      const world = await openWorld({ store: own });
      try {
        await own.append({ stream: '$system', expectedRevision: 'noStream', events: newEvents(1) });
        const error = await eventsOf(world.client.readStream('$system')).catch((reason) => reason);
        expect(error).to.be.instanceOf(StreamNotFoundError);
      } finally {
        await world.close();
        await own.close();
      }
    });

    it('has no metadata', async () => {
      expect(await world.client.getStreamMetadata(stream)).to.deep.equal({ streamName: stream });
    });
  });

  describe('a read of all', () => {
    for (const [range, positions] of [
      [{}, numbers(15, 1)],
      [{ maxCount: 2 }, [1, 2]],
      [{ maxCount: 0 }, []],
      // Reading forwards includes the event at the position; reading backwards does not.
      [{ fromPosition: at(13) }, [13, 14, 15]],
      [{ fromPosition: at(0), maxCount: 1 }, [1]],
      [{ fromPosition: at(16) }, []],
      [{ fromPosition: { commit: 2n ** 64n - 1n, prepare: 2n ** 64n - 1n } }, []],
      [{ fromPosition: 'end' }, []],
      [{ direction: 'backwards', fromPosition: 'end' }, numbers(15, 1).reverse()],
      [{ direction: 'backwards', fromPosition: 'end', maxCount: 2 }, [15, 14]],
      [{ direction: 'backwards', fromPosition: at(3) }, [2, 1]],
      [{ direction: 'backwards', fromPosition: at(99), maxCount: 1 }, [15]],
      [{ direction: 'backwards', fromPosition: 'start' }, []],
    ] as const) {
      const shown = JSON.stringify(range, (_key, value) => (typeof value === 'bigint' ? `${value}` : value));
      it(`with ${shown} gives [${positions.join(' ')}]`, async () => {
        const events = await eventsOf(world.client.readAll(range));
        expect(positionsOf(events)).to.deep.equal(positions);
      });
    }

    it('goes through logs of many pages', async () => {
      const long = await makeStore();
      const world = await openWorld({ store: long });
      try {
        await world.client.appendToStream(streamName(), happenedTimes(2_500));
        expect(positionsOf(await eventsOf(world.client.readAll()))).to.deep.equal(numbers(2_500, 1));
        const backwards = world.client.readAll({ direction: 'backwards', fromPosition: 'end' });
        expect(positionsOf(await eventsOf(backwards))).to.deep.equal(numbers(2_500, 1).reverse());
      } finally {
        await world.close();
        await long.close();
      }
    });
  });
}
