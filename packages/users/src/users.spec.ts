import type { CommandContext, CommandHandler } from '@coffer/event-store';
import { encodeMetadata, fold, newId, Rejection, type StoredEvent } from '@coffer/kernel';
import { expect } from 'chai';
import { createUsers } from './users.ts';

const NOW = new Date('2026-01-02T03:04:05.678Z');
const context = { requestId: 'req-1', actor: 'operator', deadlineMs: 1_000 };

/** Decides on streams in memory; written here, because the rules of appending are not what is tested. */
function memoryHandler() {
  const streams = new Map<string, StoredEvent[]>();
  const contexts: Pick<CommandContext, 'deadlineMs'>[] = [];
  const handler: Pick<CommandHandler, 'execute' | 'load'> = {
    async execute(type, stream, command, given) {
      contexts.push(given);
      const stored = streams.get(stream) ?? [];
      const decision = type.decide(fold(type, type.initialState, stored), command);
      const added = decision.events.map((event) => {
        const { schemaVersion, ...encoded } = type.codec.encode(event);
        return { ...encoded, metadata: encodeMetadata(given.metadata, schemaVersion) };
      });
      streams.set(stream, [...stored, ...added]);
      return { answer: decision.answer, replayed: decision.replayed ?? false, appended: [] };
    },
    async load(type, stream, given) {
      contexts.push(given);
      return fold(type, type.initialState, streams.get(stream) ?? []);
    },
  };
  return { handler, streams, contexts };
}

describe('users', () => {
  const setUp = () => {
    const { handler, streams, contexts } = memoryHandler();
    const place = { environment: 'test' as const, scopeId: newId('scp'), userId: newId('usr') };
    return {
      users: createUsers({ handler, clock: () => NOW }),
      place,
      streams,
      contexts,
      appId: newId('app'),
    };
  };
  const codeOf = (pending: Promise<unknown>) =>
    pending.then(
      () => 'done',
      (error: unknown) => (error instanceof Rejection ? error.code : Promise.reject(error)),
    );

  it('stand as they were last put, each in its own scope and environment', async () => {
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

  it('get a fresh id unless one is given, and keep who asked for them', async () => {
    const { users, place, streams, appId } = setUp();
    const { environment, scopeId } = place;
    const first = await users.register({ environment, scopeId, appId }, context);
    const second = await users.register({ environment, scopeId, appId }, context);

    expect(second.answer.userId).not.to.equal(first.answer.userId);
    const [stored] = streams.get(`user-test.${scopeId}.${first.answer.userId}`) ?? [];
    expect(JSON.parse(stored?.metadata ?? '')).to.deep.equal({
      v: 1,
      correlationId: 'req-1',
      actor: 'operator',
      occurredAt: NOW.toISOString(),
    });
  });

  it('are required to be active by those who ask for it', async () => {
    const { users, place, appId } = setUp();
    expect(await codeOf(users.requireActive(place, context))).to.equal('users/not_found');
    await users.register({ ...place, appId }, context);
    expect(await codeOf(users.requireActive(place, context))).to.equal('done');
    await users.suspend(place, context);
    expect(await codeOf(users.requireActive(place, context))).to.equal('users/suspended');
  });

  it('are absent under an id of another form, without a look at the store', async () => {
    const { users, place, contexts } = setUp();
    for (const userId of ['', 'usr_', 'app_01h455vb4pex5vsknk084sn02q', `${place.userId}.x`]) {
      const other = { ...place, userId };
      expect(await users.standing(other, context)).to.equal(undefined);
      expect(await codeOf(users.show(other, context))).to.equal('users/not_found');
      expect(await codeOf(users.suspend(other, context))).to.equal('users/not_found');
    }
    expect(contexts).to.deep.equal([]);
  });
});
