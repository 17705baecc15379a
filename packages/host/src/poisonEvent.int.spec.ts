/**
 * An event in the log that no consumer can process, left by a bug or by tampering with the database. Source:
 * architecture, Consumers (a poison event stops, and is never skipped).
 */

import assert from 'node:assert/strict';
import { accountStreamOf } from '@coffer/accounts';
import type { LogPlace, Position } from '@coffer/event-store';
import { LEDGER_CONTEXTS } from '@coffer/ledger/testing';
import type { PortalGiven } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { liveReadSchema } from '@coffer/read-models';
import { caughtUpRows, freshRows, holdsCaughtUp } from '@coffer/read-models/testing';
import { eventually, itLogTable } from '@coffer/testing';
import { expect } from 'chai';
import {
  type AppPlace,
  type ContextWorld,
  consumerMetric,
  errorLines,
  requireStatus,
  setUpApp,
  startContexts,
  textOf,
} from './testing/index.ts';

const CONSUMERS = ['readModels', 'holds'] as const;
const CHIP = 2;

describe('a service with a poison event in its log', () => {
  let world: ContextWorld<PortalGiven>;
  let test: AppPlace;
  let schema: string;
  let stream: string;
  let userId: string;
  /** The last event that every consumer can process, and the one that none can. */
  let last: LogPlace | undefined;
  let poison: LogPlace;

  const rowsOfConsumers = async () => {
    const { rows } = await world.pool.query<{
      name: string;
      position: Position | null;
      eventId: string;
      owner: string | null;
    }>(
      `select name, position, event_id as "eventId", owner from ${schema}.consumers
       union all select name, position, event_id, owner from records.consumers where name = 'holds'`,
    );
    return rows;
  };
  const play = async () => {
    const { sessionId } = await test.newSession('100');
    requireStatus(await test.bet({ sessionId, amount: '7' }), 200);
    requireStatus(await test.settle({ sessionId }), 200);
  };

  before(async () => {
    world = await startContexts({
      contexts: LEDGER_CONTEXTS,
      given: PORTAL_GIVEN,
      config: { reactionGraceMs: 0 },
    });
    const app = await setUpApp(world.client);
    test = app.test;
    schema = await liveReadSchema(world.pool);
    await play();
    userId = await test.newPlayer('50');
    await caughtUpRows(world);

    stream = accountStreamOf({ environment: 'test', appId: app.appId, userId, currencyId: CHIP });
    last = await world.store.head();
    poison = await appendPoison();
    // What follows it in the log.
    await play();
    await eventually('both consumers have stopped', async () => {
      const stopped = await consumerMetric(world.url, 'coffer_consumer_stopped');
      return CONSUMERS.every((name) => stopped[name] === 1) || undefined;
    });
  });
  after(() => world.stop());

  /** A credit with an invalid amount. */
  async function appendPoison(): Promise<LogPlace> {
    const id = crypto.randomUUID();
    const credited = {
      entryId: 'adjust:by-hand',
      amount: 'a lot',
      reason: 'adjustment',
      available: '60',
      held: '0',
    };
    const { position } = await world.store.append({
      stream,
      expectedRevision: 0,
      events: [{ id, type: 'AccountCredited', data: JSON.stringify(credited), metadata: METADATA }],
    });
    return { position, eventId: id };
  }

  it('logs an error that names the consumer, the stream, the revision and the type', () => {
    const alarms = errorLines(world.logLines);
    expect(alarms.map(({ consumer }) => consumer)).to.have.members([...CONSUMERS]);
    for (const { consumer, code, event, msg } of alarms) {
      expect(code).to.equal('consumer/poison_event');
      expect(event).to.deep.include({ stream, revision: 1, type: 'AccountCredited' });
      expect(msg).to.include(`${consumer} has stopped: consumer/poison_event`).and.include(stream);
    }
  });

  it('has stopped just before it, with its leases let go', async () => {
    const rows = await rowsOfConsumers();
    expect(rows.map(({ name }) => name)).to.have.members([...CONSUMERS]);
    for (const { name, owner } of rows) expect(owner, name).to.equal(null);
    const readModels = rows.find(({ name }) => name === 'readModels');
    expect(readModels?.eventId).to.equal(last?.eventId);
    // A process may be further back, at a cause whose effect it has not seen, but never further ahead.
    const holds = rows.find(({ name }) => name === 'holds');
    assert(holds);
    if (holds.position !== null) {
      expect(world.store.comparePositions(holds.position, poison.position)).to.be.below(0);
    }
  });

  it('goes on with the commands of everybody else', async () => {
    await play();
    expect(await test.funds(await test.newPlayer('5'))).to.deep.equal({ available: '5', held: '0' });
  });

  it('shows how far its consumers fall behind, where the store can tell', async () => {
    const head = await world.store.head();
    const behind = head && world.store.distance(last?.position, head.position);
    await eventually('the lag counts all that was not taken', async () => {
      const lag = await consumerMetric(world.url, 'coffer_consumer_lag_events');
      return CONSUMERS.every((name) => lag[name] === behind) || undefined;
    });
  });

  it('stops at the same event again when it is only started again', async () => {
    const node = await world.startNode();
    await eventually('both have stopped there', () => errorLines(node.logLines).length === 2 || undefined);
    await node.stop();
    for (const { event } of errorLines(node.logLines)) expect(event).to.include({ stream, revision: 1 });
  });

  itLogTable(
    'an event is altered',
    'goes on without loss after a start of a release that can take the event',
    async () => {
      // None of our releases can, so the event is changed into one that this release can process.
      await world.pool.query(`update log.events set data = replace(data, 'a lot', '10') where id = $1`, [
        poison.eventId,
      ]);
      const node = await world.startNode();
      const rows = await caughtUpRows(world);
      await holdsCaughtUp(world);
      const shown = await node.client.get(
        `/portal/app/${test.appId}/test/users/${userId}/accounts?currency=CHIP`,
      );
      await node.stop();
      expect(errorLines(node.logLines)).to.deep.equal([]);
      expect(rows).to.deep.equal(await freshRows(world, LEDGER_CONTEXTS.facts.projections));
      expect(textOf(shown, 'available')).to.equal('60');
    },
  );
});

const METADATA = JSON.stringify({
  correlationId: 'by hand',
  actor: 'spec',
  occurredAt: '2026-01-01T00:00:00.000Z',
  v: 1,
});
