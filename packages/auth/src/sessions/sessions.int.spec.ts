import type { AppPlace } from '@coffer/kernel';
import { codeOf, createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate, PLACE } from '../testing/authRecords.ts';
import { type Node, type SessionsWorld, startSessionsWorld } from '../testing/sessionsWorld.ts';
import type { IssuedSession } from './sessions.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const REFUSED = 'auth/invalid_refresh_token';

describe('a sign-in session', () => {
  let world: SessionsWorld;
  let nodes: readonly [Node, Node];
  beforeEach(async () => {
    world = startSessionsWorld(await createTestDatabase(authTemplate));
    nodes = [world.newNode(), world.newNode()];
  });
  afterEach(() => world.close());

  const open = (place: AppPlace = PLACE, userId = 'usr_1') => nodes[0].sessions.open(place, userId, 'siws');
  /** On the first node unless said otherwise. */
  const refresh = (token: string, node: 0 | 1 = 0) => nodes[node].sessions.refresh(token);
  const check = ({ accessToken }: IssuedSession, node: 0 | 1 = 0) => nodes[node].sessions.check(accessToken);
  const generationOf = async () =>
    (await world.pool.query('select generation from records.auth_sessions')).rows[0].generation;

  it('is known by its access token on every node: who, where, how and since when', async () => {
    const opened = await open();
    expect(opened.expiresAt).to.equal('2026-03-01T13:00:00.000Z');
    for (const node of [0, 1] as const) {
      const session = await check(opened, node);
      expect(session).to.deep.include({
        userId: 'usr_1',
        place: PLACE,
        authMethod: 'siws',
        authenticatedAt: '2026-03-01T12:00:00.000Z',
      });
      expect(session?.sessionId).to.match(/^sid_/);
    }
  });

  it('is in the database without anything that could be used', async () => {
    const opened = await open();
    await refresh(opened.refreshToken);
    const { rows } = await world.pool.query('select s::text as text from records.auth_sessions s');
    const secret = opened.refreshToken.slice(-43);
    expect(rows[0].text).not.to.include(secret);
    expect(rows[0].text).not.to.include('eyJ');
  });

  it('ends for the access token after an hour, to the second', async () => {
    const opened = await open();
    world.advance(HOUR_MS - 1_000);
    expect(await check(opened)).not.to.equal(undefined);
    world.advance(1_000);
    expect(await check(opened)).to.equal(undefined);
    expect(await check(opened, 1)).to.equal(undefined);
  });

  it('continues with every refresh, with the time of its sign-in', async () => {
    let current = await open();
    for (let round = 0; round < 5; round++) {
      world.advance(5 * DAY_MS);
      const next = await refresh(current.refreshToken, round % 2 === 0 ? 1 : 0);
      expect(next.refreshToken).not.to.equal(current.refreshToken);
      expect(next).to.deep.include({ place: PLACE, userId: 'usr_1' });
      expect((await check(next))?.authenticatedAt).to.equal('2026-03-01T12:00:00.000Z');
      current = next;
    }
  });

  it('ends after 7 days without a refresh', async () => {
    const { refreshToken } = await open();
    world.advance(7 * DAY_MS);
    expect(await codeOf(refresh(refreshToken))).to.equal(REFUSED);
  });

  it('ends 30 days after the sign-in, however often refreshed, and its access tokens with it', async () => {
    let current = await open();
    for (let day = 6; day < 30; day += 6) {
      world.advance(6 * DAY_MS);
      current = await refresh(current.refreshToken);
    }
    world.advance(6 * DAY_MS - HOUR_MS / 2);
    const last = await refresh(current.refreshToken);
    expect(last.expiresAt).to.equal('2026-03-31T12:00:00.000Z');
    world.advance(HOUR_MS / 2);
    expect(await codeOf(refresh(last.refreshToken))).to.equal(REFUSED);
    expect(await check(last)).to.equal(undefined);
  });

  it('refreshed a hundred times at once, on two nodes, has one new generation and nobody is signed out', async () => {
    const { refreshToken } = await open();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => refresh(refreshToken, index % 2 === 0 ? 0 : 1)),
    );
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).to.equal(1);
    expect(await generationOf()).to.equal(1);
    for (const answer of answers) expect(await check(answer)).not.to.equal(undefined);
    const next = await refresh(String(answers[0]?.refreshToken));
    expect(await check(next)).not.to.equal(undefined);
    expect(world.reused).to.deep.equal([]);
  });

  it('gives the same successor to who never got the answer, days later too', async () => {
    const { refreshToken } = await open();
    const lost = await refresh(refreshToken);
    world.advance(6 * DAY_MS);
    const again = await refresh(refreshToken, 1);
    expect(again.refreshToken).to.equal(lost.refreshToken);
    expect(await check(again)).not.to.equal(undefined);
  });

  it('continues through a predecessor for 30 s after the first use of the successor', async () => {
    const first = await open();
    const second = await refresh(first.refreshToken);
    await refresh(second.refreshToken);
    world.advance(30_000);
    expect((await refresh(first.refreshToken, 1)).refreshToken).to.equal(second.refreshToken);
    expect(await generationOf()).to.equal(2);
  });

  it('dies with a predecessor that is used later than that: every token of it, on every node', async () => {
    const first = await open();
    const second = await refresh(first.refreshToken);
    const third = await refresh(second.refreshToken);
    world.advance(30_001);
    expect(await check(third, 1)).not.to.equal(undefined);

    expect(await codeOf(refresh(first.refreshToken))).to.equal(REFUSED);
    expect(world.reused).to.have.length(1);
    expect(world.reused[0]).to.deep.include({ place: PLACE, userId: 'usr_1' });
    expect(await codeOf(refresh(third.refreshToken, 1))).to.equal(REFUSED);
    expect(await check(third)).to.equal(undefined);
    world.advance(400);
    expect(await check(third, 1)).to.equal(undefined);
  });

  it('remembers only what is within the grace of a client that refreshes without pause', async () => {
    let current = await open();
    const tokens = [current.refreshToken];
    for (let round = 0; round < 80; round++) {
      world.advance(1_000);
      current = await refresh(current.refreshToken);
      tokens.push(current.refreshToken);
    }
    const { rows } = await world.pool.query(
      'select cardinality(first_used_at) as kept from records.auth_sessions',
    );
    expect(rows[0].kept).to.equal(32);
    expect((await refresh(String(tokens[48]))).refreshToken).to.equal(tokens[49]);
    expect(await codeOf(refresh(String(tokens[47])))).to.equal(REFUSED);
  });

  it('is not ended by any number of rotations within the grace, and gives each token its own successor', async () => {
    const tokens = [(await open()).refreshToken];
    for (let round = 0; round < 300; round++) {
      world.advance(100);
      tokens.push((await refresh(String(tokens.at(-1)))).refreshToken);
    }
    for (const index of [0, 1, 63, 64, 65, 234, 235, 236, 298, 299]) {
      expect((await refresh(String(tokens[index]), 1)).refreshToken, `${index}`).to.equal(tokens[index + 1]);
    }
    const { rows } = await world.pool.query('select * from records.auth_sessions');
    expect(rows[0]).to.include({ generation: 300, ended_because: null });
    expect(rows[0].first_used_at.length, 'one for each second').to.be.within(30, 32);
    world.advance(31_000);
    expect(await codeOf(refresh(String(tokens[0])))).to.equal(REFUSED);
    expect(world.reused).to.have.length(1);
  });

  it('continues from a row of the former release, which counts each use by itself', async () => {
    const first = await open();
    const second = await refresh(first.refreshToken);
    const third = await refresh(second.refreshToken);
    await world.pool.query(`update records.auth_sessions
        set first_used_at = array[first_used_at[1], first_used_at[1]], first_uses = '{}'`);
    expect((await refresh(first.refreshToken)).refreshToken).to.equal(second.refreshToken);
    const fourth = await refresh(third.refreshToken);
    for (const [used, next] of [
      [first, second],
      [second, third],
      [third, fourth],
    ] as const) {
      expect((await refresh(used.refreshToken)).refreshToken).to.equal(next.refreshToken);
    }
  });

  it('is not confused by nodes whose clocks differ', async () => {
    const first = await open();
    world.advance(5_000);
    const second = await refresh(first.refreshToken);
    world.advance(-10_000);
    const third = await refresh(second.refreshToken, 1);
    expect((await refresh(second.refreshToken)).refreshToken).to.equal(third.refreshToken);
    expect((await refresh(first.refreshToken, 1)).refreshToken).to.equal(second.refreshToken);
    expect(await codeOf(refresh(third.refreshToken))).to.equal('done');
    const { rows } = await world.pool.query('select first_used_at, first_uses from records.auth_sessions');
    const times: readonly Date[] = rows[0].first_used_at;
    expect(
      times.map((time) => time.toISOString().slice(17, 19)),
      'never back',
    ).to.deep.equal(['05']);
    expect(rows[0].first_uses).to.deep.equal([3]);
  });

  it('is over with its logout, at once here and in less than a second elsewhere', async () => {
    const opened = await open();
    const other = await open();
    await check(opened, 1);
    await nodes[0].sessions.logout(opened.refreshToken);
    expect(await check(opened)).to.equal(undefined);
    expect(await codeOf(refresh(opened.refreshToken, 1))).to.equal(REFUSED);
    world.advance(400);
    expect(await check(opened, 1)).to.equal(undefined);
    expect(await check(other, 1), 'another sign-in of the user').not.to.equal(undefined);
  });

  it('of many that are checked at once is each one’s own, and those that ended before are over', async () => {
    const users = Array.from({ length: 300 }, (_, index) => `usr_${index}`);
    const opened = await Promise.all(users.map((userId) => open(PLACE, userId)));
    const isLeft = (index: number) => index % 3 !== 1;
    const leaving = opened.filter((_, index) => !isLeft(index));
    await Promise.all(leaving.map(({ refreshToken }) => nodes[1].sessions.logout(refreshToken)));
    const checked = await Promise.all(opened.map((one) => check(one)));
    expect(checked.map((session) => session?.userId)).to.deep.equal(
      users.map((userId, index) => (isLeft(index) ? userId : undefined)),
    );
  });

  it('is over with a logout by any token of its family, and by nothing else', async () => {
    const first = await open();
    const second = await refresh(first.refreshToken);
    for (const text of ['', 'rt_', 'nonsense', `${first.refreshToken}A`, first.accessToken]) {
      await nodes[0].sessions.logout(text);
    }
    expect(await check(second)).not.to.equal(undefined);
    await nodes[0].sessions.logout(first.refreshToken);
    expect(await check(second)).to.equal(undefined);
    await nodes[0].sessions.logout(first.refreshToken);
  });

  it('is over when all sessions of its user are ended, in that scope and environment only', async () => {
    const ended = [await open(), await open({ ...PLACE, appId: 'app_2' })];
    const others = [
      await open({ ...PLACE, environment: 'live' }),
      await open({ ...PLACE, scopeId: 'scp_2', appId: 'app_3' }),
      await open(PLACE, 'usr_2'),
    ];
    for (const session of [...ended, ...others]) expect(await check(session, 1)).not.to.equal(undefined);
    await nodes[0].sessions.endAllOf(PLACE, 'usr_1');
    for (const session of ended) expect(await check(session)).to.equal(undefined);
    world.advance(400);
    for (const session of ended) {
      expect(await check(session, 1)).to.equal(undefined);
      expect(await codeOf(refresh(session.refreshToken))).to.equal(REFUSED);
    }
    for (const session of others) expect(await check(session, 1)).not.to.equal(undefined);
  });

  it('says whose it is to who has a token of use, or one that was ended with all of the user', async () => {
    const { sessions } = nodes[0];
    const [used, out, suspended] = [await open(), await open(), await open(PLACE, 'usr_2')];
    await sessions.logout(out.refreshToken);
    await sessions.endAllOf(PLACE, 'usr_2');
    expect(await sessions.holderOf(used.refreshToken)).to.deep.equal({ place: PLACE, userId: 'usr_1' });
    expect(await sessions.holderOf(suspended.refreshToken)).to.deep.equal({ place: PLACE, userId: 'usr_2' });
    for (const text of [out.refreshToken, 'nonsense', used.accessToken]) {
      expect(await sessions.holderOf(text)).to.equal(undefined);
    }
    world.advance(7 * DAY_MS);
    expect(await sessions.holderOf(used.refreshToken)).to.equal(undefined);
  });

  it('is forgotten when nothing can come of it any more, and not before', async () => {
    await open();
    world.advance(30 * DAY_MS);
    const { sessions } = nodes[0];
    await open();
    expect(await sessions.deleteOld(10)).to.equal(0);
    world.advance(1);
    expect(await sessions.deleteOld(10)).to.equal(1);
    expect((await world.pool.query('select 1 from records.auth_sessions')).rowCount).to.equal(1);
  });

  it('lets nobody in while the database does not answer', async () => {
    const opened = await open();
    await check(opened);
    world.advance(400);
    await world.pool.query('alter table records.auth_sessions rename to away');
    const failed = await check(opened).catch((error: Error) => error);
    await world.pool.query('alter table records.away rename to auth_sessions');
    expect(failed).to.be.instanceOf(Error);
    expect(await check(opened)).not.to.equal(undefined);
  });
});
