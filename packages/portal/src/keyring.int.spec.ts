import type { Pool } from '@coffer/database';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { mintToken } from './apiKey.ts';
import type { App } from './apps.ts';
import { createKeyring, type Keyring } from './keyring.ts';
import { createKey, revokeKey, rotateKey } from './keys.ts';
import { NOW, OPERATOR, type PortalWorld, portalTemplate, startPortalWorld } from './testing/index.ts';

describe('the keyring', () => {
  let world: PortalWorld;
  let app: App;
  let keyring: Keyring;
  let elapsedMs: number;
  let queries: string[];

  before(async () => {
    world = startPortalWorld(await createTestDatabase(portalTemplate));
  });
  after(() => world.close());

  beforeEach(async () => {
    app = await world.newApp();
    elapsedMs = 0;
    queries = [];
    keyring = createKeyring(watched(world.pool), {
      clock: () => new Date(NOW.getTime() + elapsedMs),
      nowMs: () => elapsedMs,
      onWriteFailure: (error) => {
        throw error;
      },
    });
  });
  afterEach(() => keyring.close());

  /** The pool, recording its queries. */
  const watched = (pool: Pool): Pool =>
    new Proxy(pool, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const [query] = args;
          if (name === 'query') queries.push(typeof query === 'string' ? query : JSON.stringify(query));
          return Reflect.apply(value, target, args);
        };
      },
    });
  const lookUps = () => queries.filter((query) => query.includes('token_sha256'));
  const place = () => ({ appId: app.appId, environment: 'test' as const });
  const newKey = (kind: 'secret' | 'publishable' = 'secret') =>
    world.transaction(OPERATOR, (change) => createKey(change, place(), kind));

  it('says whose key it is, in what environment and of what kind', async () => {
    const { key, token } = await newKey('publishable');

    expect(await keyring.resolveKey(token)).to.deep.equal({
      kind: 'publishable',
      appId: app.appId,
      scopeId: app.scopeId,
      environment: 'test',
      keyId: key.keyId,
    });
  });

  it('knows nobody by a made-up key, and asks the database only about what could be one', async () => {
    expect(await keyring.resolveKey(mintToken('secret', 'test'))).to.equal(undefined);
    expect(lookUps()).to.have.length(1);

    for (const text of [
      '',
      'sk_test_',
      'sk_prod_00000000000000000000000000000000000000aa',
      'x'.repeat(5000),
    ]) {
      expect(keyring.resolveKey(text)).to.equal(undefined);
    }
    expect(lookUps()).to.have.length(1);
  });

  it('returns a known caller at once, unless its answer is 900 ms old', async () => {
    const { token } = await newKey();
    const caller = await keyring.resolveKey(token);
    elapsedMs = 599;
    expect(keyring.resolveKey(token)).to.equal(caller);
    expect(lookUps()).to.have.length(1);

    elapsedMs = 1_499;
    expect(keyring.resolveKey(token)).to.be.instanceOf(Promise);
  });

  it('asks in time for callers in a steady flow never to wait', async () => {
    const { token } = await newKey();
    const caller = await keyring.resolveKey(token);
    for (elapsedMs = 600; elapsedMs < 3_000; elapsedMs += 200) {
      expect(keyring.resolveKey(token), `after ${elapsedMs} ms`).to.deep.equal(caller);
      // One query at a time: this one is answered after the one begun by that.
      await keyring.resolveKey(mintToken('secret', 'test'));
    }
  });

  it('refuses a revoked key within a second', async () => {
    const { key, token } = await newKey();
    await keyring.resolveKey(token);
    await world.transaction(OPERATOR, (change) => revokeKey(change, place(), { keyId: key.keyId }));

    elapsedMs = 1_000;
    expect(await keyring.resolveKey(token)).to.equal(undefined);
  });

  it('lets a rotated key work until its grace is over, to the millisecond', async () => {
    const { key, token } = await newKey();
    const successor = await world.transaction(OPERATOR, (change) =>
      rotateKey(change, place(), { keyId: key.keyId, graceSeconds: 60 }),
    );

    elapsedMs = 59_999;
    expect((await keyring.resolveKey(token))?.keyId).to.equal(key.keyId);
    elapsedMs = 60_000;
    expect(keyring.resolveKey(token)).to.equal(undefined);
    expect((await keyring.resolveKey(successor.token))?.keyId).to.equal(successor.key.keyId);
  });

  it('shares one query among all who ask at the same time', async () => {
    const { token } = await newKey();
    const unknown = Array.from({ length: 50 }, () => mintToken('secret', 'test'));

    const callers = await Promise.all(
      [token, token, token, ...unknown].map((text) => keyring.resolveKey(text)),
    );

    expect(callers.filter((caller) => caller?.appId === app.appId)).to.have.length(3);
    expect(lookUps()).to.have.length.at.most(2);
  });

  it('lets nobody in while the database does not answer, and asks again next time', async () => {
    const { token } = await newKey();
    const failing = Object.assign(Object.create(world.pool), {
      query: () => Promise.reject(new Error('the database is away')),
    });
    let pool = failing;
    const switched = new Proxy(world.pool, { get: (_target, name) => Reflect.get(pool, name, pool) });
    const fragile = createKeyring(switched, { clock: () => NOW, onWriteFailure: () => undefined });

    const refused = await Promise.resolve(fragile.resolveKey(token)).catch((error: Error) => error.message);
    expect(refused).to.equal('the database is away');

    pool = world.pool;
    expect((await fragile.resolveKey(token))?.appId).to.equal(app.appId);
    await fragile.close();
  });

  it('notes when a key was last used, at most once a minute', async () => {
    const { key, token } = await newKey();
    const lastUsed = async () => {
      await keyring.close();
      const { rows } = await world.pool.query('select last_used_at from records.api_keys where key_id = $1', [
        key.keyId,
      ]);
      return rows[0].last_used_at;
    };

    await keyring.resolveKey(token);
    expect(await lastUsed()).to.deep.equal(NOW);
    elapsedMs = 59_000;
    await keyring.resolveKey(token);
    expect(await lastUsed()).to.deep.equal(NOW);
    elapsedMs = 60_000;
    await keyring.resolveKey(token);
    expect(await lastUsed()).to.deep.equal(new Date(NOW.getTime() + 60_000));
  });

  it('keeps no secret key, not even in part', async () => {
    const { token } = await newKey();
    const { rows } = await world.pool.query('select k::text as text from records.api_keys k');
    const stored = rows.map((row) => row.text).join('\n');

    expect(stored).to.include(token.slice(-4));
    expect(stored).not.to.include(token.slice(-5));
  });
});
