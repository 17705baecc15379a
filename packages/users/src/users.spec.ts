import { randomUUID } from 'node:crypto';
import { type CommandHandler, createCommandHandler, readEvent, requestedBy } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { decodeMetadata, idFromParts, newId } from '@coffer/kernel';
import { codeOf } from '@coffer/testing';
import { expect } from 'chai';
import { createUsers, erasureIn } from './users.ts';

const NOW = new Date('2026-01-02T03:04:05.678Z');
const ERASED_AT = '2026-01-31T12:00:00.000Z';
const context = {
  requestId: 'req-1',
  actor: 'operator',
  get deadlineMs() {
    return performance.now() + 60_000;
  },
};

/** Counts the streams that were looked at. */
function memoryWorld() {
  const store = createMemoryEventStore();
  const handler = createCommandHandler({ store });
  const streams: string[] = [];
  const watched: Pick<CommandHandler, 'execute' | 'load'> = {
    execute: (type, stream, command, given) => {
      streams.push(stream);
      return handler.execute(type, stream, command, given);
    },
    load: (type, stream, given) => {
      streams.push(stream);
      return handler.load(type, stream, given);
    },
  };
  return { store, handler: watched, streams };
}

describe('users', () => {
  const setUp = () => {
    const { handler, store, streams } = memoryWorld();
    const place = { environment: 'test' as const, scopeId: newId('scp'), userId: newId('usr') };
    return {
      users: createUsers({ handler, store, clock: () => NOW }),
      place,
      store,
      streams,
      appId: newId('app'),
    };
  };

  it('have the standing last given to them, each in its own scope and environment', async () => {
    const { users, place, appId } = setUp();
    expect(await users.standing(place, context)).to.equal(undefined);
    await users.register({ ...place, appId }, context);
    expect(await users.standing(place, context)).to.equal('active');
    await users.suspend(place, context);
    expect(await users.standing(place, context)).to.equal('suspended');
    await users.reinstate(place, context);
    expect(await users.standing(place, context)).to.equal('active');

    expect(await users.standing({ ...place, environment: 'live' }, context)).to.equal(undefined);
    expect(await users.standing({ ...place, scopeId: newId('scp') }, context)).to.equal(undefined);
  });

  it('get a new id unless one is given, and record who asked for them', async () => {
    const { users, place, store, appId } = setUp();
    const { environment, scopeId } = place;
    const first = await users.register({ environment, scopeId, appId }, context);
    const second = await users.register({ environment, scopeId, appId }, context);

    expect(second.answer.userId).not.to.equal(first.answer.userId);
    const stored = await readEvent(store, `user-test.${scopeId}.${first.answer.userId}`, 0);
    expect(JSON.parse(stored.metadata)).to.deep.equal({
      v: 1,
      correlationId: 'req-1',
      actor: 'operator',
      occurredAt: NOW.toISOString(),
    });
  });

  it('can be required to be active', async () => {
    const { users, place, appId } = setUp();
    expect(await codeOf(users.requireActive(place, context))).to.equal('users/not_found');
    await users.register({ ...place, appId }, context);
    expect(await codeOf(users.requireActive(place, context))).to.equal('done');
    await users.suspend(place, context);
    expect(await codeOf(users.requireActive(place, context))).to.equal('users/suspended');
  });

  it('are absent under a malformed id, without a look at the store', async () => {
    const { users, place, streams } = setUp();
    for (const userId of ['', 'usr_', 'app_01h455vb4pex5vsknk084sn02q', `${place.userId}.x`]) {
      const other = { ...place, userId };
      expect(await users.standing(other, context)).to.equal(undefined);
      expect(await codeOf(users.show(other, context))).to.equal('users/not_found');
      expect(await codeOf(users.suspend(other, context))).to.equal('users/not_found');
    }
    expect(streams).to.deep.equal([]);
  });

  describe('who came by signing in', () => {
    const identity = { identityId: idFromParts('idn', 'a'), type: 'email', identityHash: 'ab12' } as const;
    const registeredAt = '2026-01-01T00:00:00.000Z';
    const claimed = async () => {
      const world = setUp();
      const stream = `identity-test.${world.place.scopeId}.ab12`;
      const metadata = { v: 1, correlationId: 'req-0', actor: 'key:1', occurredAt: registeredAt };
      const cause = {
        id: randomUUID(),
        type: 'IdentityClaimed',
        data: '{}',
        metadata: JSON.stringify(metadata),
        stream,
        revision: 0,
      };
      const register = () =>
        world.users.registerClaimed(
          { ...world.place, appId: world.appId, registeredAt, identity },
          cause,
          context.deadlineMs,
        );
      await register();
      return { ...world, cause, register };
    };

    it('are registered once with their identity, by whoever finds the claim', async () => {
      const { users, place, store, cause, register, appId } = await claimed();
      await register();
      const { userId } = place;
      expect(await users.find(place, context)).to.deep.equal({
        userId,
        appId,
        registeredAt,
        status: 'active',
        identities: [identity],
        revision: 1,
      });
      const first = await readEvent(store, `user-test.${place.scopeId}.${userId}`, 0);
      expect(decodeMetadata(first.metadata)).to.deep.equal({
        v: 1,
        correlationId: 'req-0',
        causationId: cause.id,
        actor: 'key:1',
        occurredAt: registeredAt,
      });
    });

    it('are erased once, are shown as erased from then on, and no longer pass as active', async () => {
      const { users, place, cause } = await claimed();
      expect(erasureIn(cause)).to.equal(undefined);
      const first = await users.erase(place, requestedBy(context, ERASED_AT));
      expect(first.cause).to.include({ type: 'UserErased', revision: 2 });
      expect(first.erasure.erasedAt).to.equal(ERASED_AT);
      expect(first.erasure.identities).to.deep.equal([
        { identityId: identity.identityId, identityHash: 'ab12' },
      ]);
      const again = await users.erase(
        place,
        requestedBy({ ...context, requestId: 'req-2' }, '2026-02-01T12:00:00.000Z'),
      );
      expect(again.erasure).to.deep.equal(first.erasure);
      expect(again.cause.id).to.equal(first.cause.id);

      expect(erasureIn(first.cause)).to.deep.equal({ ...place, erasure: first.erasure });

      expect((await users.show(place, context)).status).to.equal('erased');
      expect(await codeOf(users.requireActive(place, context))).to.equal('users/not_found');
      expect(await codeOf(users.reinstate(place, context))).to.equal('users/erased');
    });
  });
});
