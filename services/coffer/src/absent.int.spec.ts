/**
 * The service while its log or its database is absent: no endpoint reports that as an internal error.
 * Calls every endpoint in the OpenAPI document, so that new ones are covered too.
 */
import { type EventStore, StoreUnreachableError } from '@coffer/event-store';
import { type Answer, type CallOptions, requireStatus, type TestApp, textOf } from '@coffer/host/testing';
import { eventually, reachableDatabase } from '@coffer/testing';
import {
  appWithGem,
  newAddress,
  newPlayer,
  type Player,
  startTestChain,
  type TestChain,
} from '@coffer/wallets/testing';
import { expect } from 'chai';
import { verdict } from './testing/ledger.ts';
import { openApiPaths } from './testing/openApiDocuments.ts';
import { startWorld, type World } from './testing/world.ts';

/** A store that can be made unreachable, with the adapters' own errors. */
function absentableStore() {
  let isAbsent = false;
  const unlessAbsent = () => {
    if (isAbsent) throw new StoreUnreachableError('Nobody answers.');
  };
  async function* pages<Page>(read: () => AsyncIterable<Page>): AsyncIterable<Page> {
    unlessAbsent();
    for await (const page of read()) {
      yield page;
      unlessAbsent();
    }
  }
  const wrapStore = (store: EventStore): EventStore => ({
    ...store,
    async append(request) {
      unlessAbsent();
      return store.append(request);
    },
    async heads(streams) {
      unlessAbsent();
      return store.heads(streams);
    },
    async head() {
      unlessAbsent();
      return store.head();
    },
    readStream: (stream, options) => pages(() => store.readStream(stream, options)),
    readAll: (options) => pages(() => store.readAll(options)),
    // It waits until the log is back or its reader gives up.
    async *subscribeToAll(options) {
      if (!isAbsent) return yield* store.subscribeToAll(options);
      await new Promise((resolve) => options.signal.addEventListener('abort', resolve));
    },
  });
  return {
    wrapStore,
    setAbsent(absent: boolean) {
      isAbsent = absent;
    },
  };
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly credential: string;
  readonly body: unknown;
}

const WALK = ['secretKey', 'publishableKey', 'accessToken', 'operatorToken'];

describe('A service whose', () => {
  const store = absentableStore();
  let chain: TestChain;
  let world: World;
  let app: TestApp;
  let player: Player;
  let operations: readonly Operation[];

  before(async () => {
    chain = await startTestChain();
    world = await startWorld({
      chains: chain.chains,
      roles: ['api', 'projector', 'process-manager', 'reconciler'],
      wrapStore: store.wrapStore,
      environment: { COFFER_REQUEST_TIMEOUT_MS: '2000' },
    });
    app = await appWithGem(world.client);
    player = await newPlayer(world.client, app);
    await app.test.credit(player.userId, '100');
    const fields = { userId: player.userId, lockAmount: '10', transactionUuid: 'open-1' };
    const sessionId = textOf(requireStatus(await app.test.openSession(fields), 201), 'sessionId');
    operations = operationsIn(await openApiPaths(world.client), {
      appId: app.appId,
      userId: player.userId,
      sessionId,
      walletId: player.wallet.id,
      environment: 'test',
      currency: 'CHIP',
      name: `playSession-test.${app.appId}.${sessionId}`,
      address: newAddress(),
      to: newAddress(),
      publicKey: newAddress(),
      signature: Buffer.alloc(64).toString('base64'),
      email: 'player@example.com',
      code: '123456',
      settings: { allowedOrigins: [] },
      amount: '1',
      since: '1',
      hash: '0'.repeat(64),
      transactionUuid: 'write-1',
      betTransactionUuid: 'bet-1',
      operations: [{ op: 'bet', transactionUuid: 'bet-2', amount: '1' }],
    });
    expect(new Set(operations.map(({ credential }) => credential))).to.include.all.keys(WALK);
  });
  after(async () => {
    await world.stop();
    await chain.stop();
  });

  function call({ method, path, credential, body }: Operation): Promise<Answer> {
    const { client, operatorToken } = world;
    const { secretKey, publishableKey } = app.test;
    const keys: Readonly<Record<string, string>> = {
      secretKey,
      publishableKey,
      operatorToken,
      accessToken: player.accessToken(),
    };
    const options: CallOptions = { key: keys[credential] ?? null };
    return client.send(method, path, body, options);
  }

  /** The answer of each operation, by "POST /ledger/bet". */
  async function walk(): Promise<ReadonlyMap<string, string>> {
    const answers = new Map<string, string>();
    for (const operation of operations) {
      const answer = await call(operation);
      const isAskedToRetry = /^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? '');
      const name = `${operation.method} ${operation.path.replaceAll(player.userId, '{userId}')}`;
      answers.set(name, verdict(answer) + (answer.status === 503 && !isAskedToRetry ? ' for ever' : ''));
    }
    return answers;
  }

  const readiness = async () => {
    const response = await fetch(`${world.url}/readyz`);
    const { code, details } = Object(await response.json());
    return [response.status, code, details?.reasons];
  };

  /** Among the 5xx answers, only a refusal that asks for a later retry is allowed. */
  const wrong = (answers: ReadonlyMap<string, string>) =>
    [...answers].filter(
      ([, answer]) => /^5/.test(answer) && !/^503 service\/(unavailable|outcome_unknown)$/.test(answer),
    );

  /** Its answers are up to half a second old. */
  const notReady = () =>
    eventually('the service is not ready', async () => {
      const [status, ...answer] = await readiness();
      return status === 503 ? answer : undefined;
    });

  it('log is absent says so at every endpoint, and is not ready', async () => {
    store.setAbsent(true);
    try {
      const answers = await walk();
      expect(wrong(answers)).to.deep.equal([]);
      expect(answers.get('GET /portal/log')).to.equal('503 service/unavailable');
      expect(answers.get('GET /portal/apps')).to.equal('200');
      expect(await notReady()).to.deep.equal(['service/not_ready', ['The log cannot be reached.']]);
      expect((await fetch(`${world.url}/metrics`)).status).to.equal(200);
    } finally {
      store.setAbsent(false);
    }
    await eventually('the service is ready again', async () => (await readiness())[0] === 200 || undefined);
  });

  it('database is absent says so at every endpoint, and is not ready', async () => {
    const database = reachableDatabase(world.databaseUrl);
    await database.setReachable(false);
    try {
      const answers = await walk();
      expect(wrong(answers)).to.deep.equal([]);
      expect(answers.get('POST /portal/apps')).to.equal('503 service/unavailable');
      const [code, reasons] = await notReady();
      expect(code).to.equal('service/not_ready');
      expect(reasons).to.include('The database cannot be reached.');
      expect((await fetch(`${world.url}/metrics`)).status).to.equal(200);
    } finally {
      await database.setReachable(true);
      await database.close();
    }
    await eventually('the service is ready again', async () => (await readiness())[0] === 200 || undefined);
  });
});

/** Each with path values, required parameters and body: the given ones by name, otherwise any that fit. */
function operationsIn(
  document: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, unknown>>,
): readonly Operation[] {
  const textFor = (name: string) => String(values[name] ?? 'example');
  const filled = (example: unknown): unknown => {
    if (Array.isArray(example)) return example.map(filled);
    if (typeof example !== 'object' || example === null) return example;
    return Object.fromEntries(
      Object.entries(example).map(([name, value]) => [
        name,
        typeof values[name] === typeof value ? values[name] : filled(value),
      ]),
    );
  };
  return Object.entries(Object(document.paths)).flatMap(([path, methods]) =>
    Object.entries(Object(methods)).map(([method, operation]): Operation => {
      const { parameters = [], requestBody, security = [] } = Object(operation);
      const query = new URLSearchParams();
      for (const { in: place, name, required } of parameters) {
        if (place === 'query' && required) query.set(name, textFor(name));
      }
      const filledPath = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(textFor(name)));
      return {
        method: method.toUpperCase(),
        path: query.size > 0 ? `${filledPath}?${query}` : filledPath,
        credential: Object.keys(security[0] ?? {})[0] ?? 'none',
        body: filled(requestBody?.content?.['application/json']?.example),
      };
    }),
  );
}
