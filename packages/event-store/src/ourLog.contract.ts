/** A log that others write to as well: what we are given of it is ours, on every backend. */

import { randomUUID } from 'node:crypto';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { InvalidAppendError } from './errors.ts';
import { ourLog } from './ourLog.ts';
import type { EventStore, EventToAppend, RecordedEvent } from './port.ts';
import { allOf, idsOf, newEvent, newEvents, streamName } from './testing/events.ts';
import { follow } from './testing/follow.ts';
import type { SharedLogHarness } from './testing/sharedLogHarness.ts';

const APP = `app_${'0'.repeat(26)}`;

/** Names and contents of other users' events; each has stopped a consumer, or nearly. */
const OF_OTHERS: readonly (readonly [stream: string, event: Partial<EventToAppend>])[] = [
  ['bank-1', { type: 'AccountCredited', data: '{"iban":"DE00"}' }],
  ['crm', { type: 'UserErased', data: '{"id":7}' }],
  ['order-2', { type: 'BetPlaced', data: '{}' }],
  ['order-2', { type: 'FundsHeld', data: 'not JSON at all' }],
  ['order-2', { type: 'HoldClosed', data: '"a text"' }],
  ['order-2', { type: 'MoveRequested', data: '[1]' }],
  ['order-2', { type: 'AccountCredited', data: '{}', metadata: '<xml/>' }],
  ['order-2', { type: 'AccountCredited', data: `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}` }],
  [`account-live.${APP}`, { type: 'AccountCredited', data: '{}' }],
  [`account-prod.${APP}.usr_1.2`, { type: 'AccountCredited', data: '{}' }],
  [`account-live.${APP}.with a space`, { type: 'AccountCredited', data: '{}' }],
  [`account-live.scp_${'0'.repeat(26)}.usr_1.2`, { type: 'AccountCredited', data: '{}' }],
  [`Account.live-${APP}.usr_1.2`, { type: 'AccountCredited', data: '{}' }],
];

export function ourLogContract(name: string, makeHarness: () => Promise<SharedLogHarness>): void {
  describe(`our part of a log, ${name}`, () => {
    let harness: SharedLogHarness;
    let whole: EventStore;

    beforeEach(async () => {
      harness = await makeHarness();
      whole = harness.store;
    });
    afterEach(() => harness.close());

    const writeOurs = async (count: number): Promise<string[]> => {
      const events = newEvents(count);
      await whole.append({ stream: streamName(), expectedRevision: 'noStream', events });
      return idsOf(events);
    };
    const writeAllOfOthers = async () => {
      for (const [stream, event] of OF_OTHERS) await harness.writeAsAnother(stream, newEvent(event));
    };
    const writeManyOfOthers = async (count: number) => {
      await whole.append({
        stream: `flood-${randomUUID()}`,
        expectedRevision: 'any',
        events: newEvents(count),
      });
    };
    /** Ours before, between and after those of others. */
    const mixed = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (const count of [2, 1, 3]) {
        ids.push(...(await writeOurs(count)));
        await writeAllOfOthers();
      }
      return ids;
    };

    it('is read without theirs, in both directions, from every place and with every limit', async () => {
      const ids = await mixed();
      const log = ourLog(whole);
      const all: readonly RecordedEvent[] = await allOf(log.readAll());
      expect(idsOf(all)).to.deep.equal(ids);
      expect(idsOf(await allOf(log.readAll({ direction: 'backwards' })))).to.deep.equal(ids.toReversed());
      for (const limit of [0, 1, 2, 3, 5, 6, 7]) {
        expect(idsOf(await allOf(log.readAll({ limit }))), `${limit}`).to.deep.equal(ids.slice(0, limit));
        expect(idsOf(await allOf(log.readAll({ limit, direction: 'backwards' }))), `${limit}`).to.deep.equal(
          ids.toReversed().slice(0, limit),
        );
      }
      for (const [index, { position: from }] of all.entries()) {
        expect(idsOf(await allOf(log.readAll({ from, limit: 2 })))).to.deep.equal(
          ids.slice(index + 1, index + 3),
        );
      }
      expect((await allOf(log.whole.readAll())).length).to.equal(ids.length + 3 * OF_OTHERS.length);
    });

    it('is read past more of theirs than fit into a page', async () => {
      const ids = await writeOurs(1);
      await writeManyOfOthers(1_200);
      ids.push(...(await writeOurs(1)));
      await writeManyOfOthers(600);
      const log = ourLog(whole);
      expect(idsOf(await allOf(log.readAll({ limit: 2 })))).to.deep.equal(ids);
      expect((await log.head())?.eventId).to.equal(ids.at(-1));
    });

    it('ends with our last event, however it is read and whatever arrives', async () => {
      const log = ourLog(whole);
      expect(await log.head()).to.equal(undefined);
      await writeAllOfOthers();
      expect(await log.head()).to.equal(undefined);
      expect(await log.head()).to.equal(undefined);
      for (const count of [1, 2]) {
        const last = (await writeOurs(count)).at(-1);
        expect((await log.head())?.eventId).to.equal(last);
        await writeAllOfOthers();
        expect((await log.head())?.eventId).to.equal(last);
        expect((await ourLog(whole).head())?.eventId).to.equal(last);
        await writeManyOfOthers(3);
        expect((await log.head())?.eventId).to.equal(last);
      }
    });

    it('is followed without theirs, from the beginning and from each of its events', async () => {
      const ids = await mixed();
      const log = ourLog(whole);
      const places = [
        undefined,
        ...(await allOf(log.readAll())).map(({ position, id }) => ({ position, eventId: id })),
      ];
      for (const [index, after] of places.entries()) {
        const followed = follow(log, { after, pageSize: 4 });
        await followed.until(() => followed.told.includes('caughtUp'));
        expect(followed.ids()).to.deep.equal(ids.slice(index));
        expect(followed.told.filter((entry) => entry === 'caughtUp')).to.have.length(1);
        await followed.stop();
      }
    });

    it('is followed while others write', async () => {
      const log = ourLog(whole);
      const followed = follow(log);
      await followed.until(() => followed.told.includes('caughtUp'));
      const ids: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        await writeAllOfOthers();
        ids.push(...(await writeOurs(2)));
      }
      await followed.until(() => followed.events().length >= ids.length);
      expect(followed.ids()).to.deep.equal(ids);
      await followed.stop();
    });

    it('is caught up before all of theirs after it have been read', async () => {
      await writeOurs(1);
      await writeManyOfOthers(1_500);
      const [only] = await allOf(ourLog(whole).readAll());
      const after = only && { position: only.position, eventId: only.id };
      const followed = follow(ourLog(whole), { after, pageSize: 10 });
      await followed.until(() => followed.told.includes('caughtUp'));
      // Pages without an event of ours: the first of them tells that this is the end.
      expect(followed.pageSizes.length).to.be.at.most(2);
      await followed.stop();
    });

    it('refuses an append to a stream that no consumer would read', async () => {
      const log = ourLog(whole);
      for (const stream of ['bank-1', `account-live.${APP}`]) {
        const refused = await failureOf(
          log.append({ stream, expectedRevision: 'any', events: newEvents(1) }),
        );
        expect(refused)
          .to.be.instanceOf(InvalidAppendError)
          .with.property('message')
          .that.includes('nobody would read');
        expect(await log.heads([stream])).to.deep.equal([undefined]);
      }
    });
  });
}
