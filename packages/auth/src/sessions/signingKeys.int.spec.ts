import { createSecretBox } from '@coffer/kernel';
import { codeOf, createTestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate, PLACE } from '../testing/authRecords.ts';
import { type Node, type SessionsWorld, startSessionsWorld } from '../testing/sessionsWorld.ts';
import { createSigningKeys } from './signingKeys.ts';

const MINUTE_MS = 60_000;
const TEST = { environment: 'test', isCompromised: false } as const;
const COMPROMISED = { environment: 'test', isCompromised: true } as const;

describe('the signing keys', () => {
  let world: SessionsWorld;
  let nodes: readonly [Node, Node];
  beforeEach(async () => {
    world = startSessionsWorld(await createTestDatabase(authTemplate));
    nodes = [world.newNode(), world.newNode()];
  });
  afterEach(() => world.close());

  const signIn = async (node: Node = nodes[0]) =>
    (await node.sessions.open(PLACE, 'usr_1', 'siws')).accessToken;
  const kidOf = (token: string) =>
    JSON.parse(Buffer.from(String(token.split('.')[0]), 'base64url').toString()).kid;
  const published = async (node: Node) => (await node.keys.current()).jwks.map(({ kid }) => kid);
  /** Longer than a node may cache, and longer than others may. */
  const settle = () => world.advance(10 * MINUTE_MS);

  it('are made once per environment, one that signs and one that is next, by whichever node is first', async () => {
    await Promise.all(nodes.map((node) => signIn(node)));
    for (const environment of ['test', 'live'] as const) {
      expect(await world.keyStates(environment)).to.have.members(['signing', 'standby']);
    }
    expect(await published(nodes[0])).to.have.members(await published(nodes[1]));
  });

  it('are sealed: a private half stands nowhere, and is opened by no other installation key', async () => {
    await signIn();
    const { rows } = await world.pool.query('select k::text as text from records.auth_signing_keys k');
    for (const { text } of rows) expect(text).to.not.match(/PRIVATE|"d"/);
    const stranger = createSigningKeys(world.pool, {
      secretBox: createSecretBox(Buffer.alloc(32, 9)),
      clock: world.now,
      nowMs: () => 0,
    });
    const set = await stranger.current();
    expect(() => set.signing('test')).to.throw();
  });

  it('rotate without a failed verification: by token, node and moment, over three rotations', async () => {
    const tokens: { readonly token: string; readonly untilMs: number }[] = [];
    let elapsedMs = 0;
    const advance = (ms: number) => {
      elapsedMs += ms;
      world.advance(ms);
    };
    const everyTokenVerifies = async () => {
      for (const { token, untilMs } of tokens) {
        if (elapsedMs >= untilMs) continue;
        for (const node of nodes)
          expect(await node.sessions.check(token), `at ${elapsedMs}`).not.to.equal(undefined);
      }
    };
    for (let rotation = 0; rotation < 3; rotation++) {
      for (let step = 0; step < 8; step++) {
        for (const node of nodes)
          tokens.push({ token: await signIn(node), untilMs: elapsedMs + 60 * MINUTE_MS });
        await everyTokenVerifies();
        // First in steps finer than a node's cache time, then up to a quarter of an hour.
        advance(step < 4 ? 150 : 5 * MINUTE_MS);
      }
      await world.rotateKeys(TEST);
      await everyTokenVerifies();
    }
    expect(new Set(tokens.map(({ token }) => kidOf(token))).size).to.equal(3);
  });

  it('sign only with a key that was published before, long enough for everybody to have it', async () => {
    await signIn();
    const before = await published(nodes[0]);
    expect(await codeOf(world.rotateKeys(TEST))).to.equal('auth/standby_key_too_young');
    world.advance(10 * MINUTE_MS - 1);
    expect(await codeOf(world.rotateKeys(TEST))).to.equal('auth/standby_key_too_young');
    world.advance(1);
    expect(await codeOf(world.rotateKeys(TEST))).to.equal('done');
    expect(before).to.include(kidOf(await signIn(nodes[1])));
  });

  it('that no longer sign still verify until the last token is gone, and have no private half', async () => {
    const old = kidOf(await signIn());
    settle();
    await world.rotateKeys(TEST);
    const { rows } = await world.pool.query(
      'select sealed_private_key from records.auth_signing_keys where kid = $1',
      [old],
    );
    expect(rows[0].sealed_private_key).to.equal(null);
    world.advance(65 * MINUTE_MS - 1);
    expect(await published(nodes[0])).to.include(old);
    world.advance(400);
    expect(await published(nodes[0])).to.not.include(old);
    await world.rotateKeys(TEST);
    expect(await world.keyStates('test')).to.have.members(['retired', 'verify-only', 'signing', 'standby']);
  });

  it('that are compromised verify nothing from then on, on every node in less than a second', async () => {
    const [token, live] = [
      await signIn(),
      await nodes[0].sessions.open({ ...PLACE, environment: 'live' }, 'usr_1', 'siws'),
    ];
    for (const node of nodes) expect(await node.sessions.check(token)).not.to.equal(undefined);
    await world.rotateKeys(COMPROMISED);
    world.advance(400);
    for (const node of nodes) {
      expect(await node.sessions.check(token)).to.equal(undefined);
      expect(await node.sessions.check(live.accessToken), 'the other environment').not.to.equal(undefined);
      expect(await node.sessions.check(await signIn(node)), 'signed by the next one').not.to.equal(undefined);
    }
  });

  it('of which the installation key is lost are replaced by a rotation', async () => {
    await signIn();
    await world.pool.query(
      `update records.auth_signing_keys set sealed_private_key = '{}' where environment = 'test'`,
    );
    const fresh = world.newNode();
    expect(await fresh.sessions.open(PLACE, 'usr_1', 'siws').catch((error: Error) => error)).to.be.instanceOf(
      Error,
    );
    await world.rotateKeys(TEST);
    world.advance(400);
    expect(await fresh.sessions.check(await signIn(fresh))).not.to.equal(undefined);
  });

  it('rotated twice at once rotate once', async () => {
    await signIn();
    settle();
    const holder = await world.pool.connect();
    const rotations: Promise<string | undefined>[] = [];
    try {
      await holder.query('begin');
      await holder.query('select 1 from records.auth_signing_keys for update');
      rotations.push(...[1, 2].map(() => codeOf(world.rotateKeys(TEST))));
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await world.pool.query(waiting)).rowCount === 2);
      await holder.query('commit');
    } finally {
      holder.release(true);
    }
    expect(await Promise.all(rotations)).to.have.members(['done', 'auth/standby_key_too_young']);
    expect(await world.keyStates('test')).to.have.members(['verify-only', 'signing', 'standby']);
  });
});
