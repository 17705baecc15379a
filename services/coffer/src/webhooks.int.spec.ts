/** Each type of event, fired by its call over HTTP and received over HTTPS under a certificate authority of its own. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { roles as allRoles } from '@coffer/host';
import { requireStatus, type TestApp, textOf } from '@coffer/host/testing';
import { createBackendClient, NOTHING_RECEIVED, webhooks } from '@coffer/sdk';
import { eventually, newCertificates, until } from '@coffer/testing';
import {
  appWithGem,
  LAMPORTS_PER_SOL,
  newAddress,
  newPlayer,
  type Player,
  startTestChain,
  type TestChain,
  unsignedTransfer,
  withdrawalWith,
} from '@coffer/wallets/testing';
import { type SecureReceiver, startSecureReceiver } from '@coffer/webhooks/testing';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as addFormats } from 'ajv-formats';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { startNode, startWorld, type World } from './testing/world.ts';

const SOL = 1;
const ENVIRONMENT = { COFFER_WEBHOOKS_ALLOW_INSECURE: '1', COFFER_CHAIN_POLL_MS: '50' };
/** Two facts by one call have the same time. */
const FIRED = [
  'user.created',
  'wallet.created',
  'deposit.received',
  'withdrawal.completed',
  'withdrawal.failed',
  'wallet.exported',
  'wallet.created',
  'wallet.migrated',
  'compliance.passed',
  'compliance.failed',
  'compliance.review_required',
  'user.suspended',
];

/** As a receiver checks it that has no library: the specification's Signature rules. */
function isSigned(header: string, body: Uint8Array, secret: string): boolean {
  const fields = header.split(',').map((field) => field.split('=', 2));
  const t = fields.find(([name]) => name === 't')?.[1] ?? '';
  if (!(Math.abs(Date.now() / 1000 - Number(t)) <= 300)) return false;
  const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest();
  return fields.some(([name, value = '']) => {
    const given = Buffer.from(value, 'hex');
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

describe('webhooks of the whole service', () => {
  const trusted = getCACertificates('default');
  let chain: TestChain;
  let world: World;
  let app: TestApp;
  let token: string;
  let player: Player;
  const endpoints: { receiver: SecureReceiver; id: string; secret: string }[] = [];

  before(async () => {
    const certificates = await newCertificates();
    // What NODE_EXTRA_CA_CERTS does when a process starts.
    setDefaultCACertificates([...trusted, certificates.ca]);
    chain = await startTestChain();
    const roles = allRoles.filter((role) => role !== 'chain-worker');
    world = await startWorld({ chains: chain.chains, roles, environment: ENVIRONMENT });
    app = await appWithGem(world.client);
    token = textOf(await world.client.post(`/portal/app/${app.appId}/token`, {}), 'token');
    for (let count = 0; count < 2; count += 1) {
      const receiver = await startSecureReceiver(certificates);
      const path = `/portal/app/${app.appId}/webhooks`;
      const made = await world.client.post(path, { url: `${receiver.url}/hooks` }, { key: token });
      const [id, secret] = [textOf(requireStatus(made, 200), 'id'), textOf(made, 'secret')];
      endpoints.push({ receiver, id, secret });
    }
    player = await fireAll();
  });
  after(async () => {
    setDefaultCACertificates(trusted);
    for (const { receiver } of endpoints) receiver.close();
    await world?.stop();
    await chain?.stop();
  });

  const operator = async (path: string, body: unknown) =>
    requireStatus(await world.client.post(`/portal/app/${app.appId}/test/users/${path}`, body), 200);

  /** Lets a chain worker run, and slots pass, until there is an answer. */
  async function carriedUntil<Result>(what: string, ask: () => Promise<Result | undefined>): Promise<Result> {
    const environment = ENVIRONMENT;
    const worker = await startNode(world.databaseUrl, {
      chains: chain.chains,
      roles: ['chain-worker'],
      environment,
    });
    try {
      return await eventually(what, () => {
        chain.node.advance(1);
        return ask();
      });
    } finally {
      await worker.stop();
    }
  }

  async function move(kind: 'deposit' | 'withdraw', ref: string, amount: string): Promise<void> {
    const { userId } = player;
    const asked = await app.test.post(`/treasury/${kind}`, { userId, currency: SOL, amount, ref });
    requireStatus(asked, kind === 'deposit' ? 201 : 200);
    await carriedUntil(`${ref} is confirmed`, async () => {
      const { json } = requireStatus(await app.test.post('/treasury/status', { ref }), 200);
      return json.status === 'confirmed' || undefined;
    });
  }

  async function fireAll(): Promise<Player> {
    player = await newPlayer(world.client, app);
    const { userId, wallet } = player;
    await chain.fund(wallet.address, 4n * LAMPORTS_PER_SOL);
    await move('deposit', 'in-1', '2000000000');
    await move('withdraw', 'out-1', '1000000000');

    const path = (rest: string) => `/wallets/${wallet.id}/${rest}`;
    const late = { idempotencyKey: 'late', toAddress: newAddress(), amount: '3000000000' };
    const asked = requireStatus(await player.post(path('withdraw'), late), 200);
    // The money is gone by the time that it is sent.
    const unsigned = await unsignedTransfer(chain.rpc, wallet.address, newAddress(), 2_999_000_000n);
    const signed = requireStatus(await player.post(path('sign'), { transaction: unsigned }), 200);
    await chain.rpc.send(Buffer.from(textOf(signed, 'signedTransaction'), 'base64'));
    chain.node.finalize();
    await carriedUntil('it has failed', withdrawalWith(player, textOf(asked, 'moveId'), 'failed'));

    requireStatus(await player.post(path('export'), { idempotencyKey: 'export' }), 200);
    await operator(`${userId}/wallets/migrate`, { ref: 'migration' });
    for (const decision of ['passed', 'failed', 'review_required']) {
      await operator(`${userId}/compliance`, { decision, reason: 'source of funds' });
    }
    await operator(`${userId}/suspend`, { reason: 'chargeback' });
    await until(() => endpoints.every(({ receiver }) => receiver.received.length >= FIRED.length));
    return player;
  }

  const inOrder = ({ received }: SecureReceiver) =>
    received
      .map(({ body, ...rest }) => ({ ...rest, body, event: JSON.parse(String(body)) }))
      .sort((one, other) => one.event.sequence - other.event.sequence);

  it('reach receivers over HTTP/1.1, also where HTTP/2 is offered, each type by its call', () => {
    for (const { receiver } of endpoints) {
      const all = inOrder(receiver);
      expect(all.map(({ event }) => event.type).sort()).to.deep.equal([...FIRED].sort());
      expect(all.map(({ event }) => event.sequence)).to.deep.equal(FIRED.map((_, index) => index + 1));
      expect(all.map(({ event }) => event.previousSequence)).to.deep.equal([
        null,
        ...FIRED.slice(1).map((_, index) => index + 1),
      ]);
      expect(new Set(all.map(({ httpVersion }) => httpVersion))).to.deep.equal(new Set(['1.1']));
      for (const { headers, event } of all) expect(headers['x-service-event']).to.equal(event.type);
    }
  });

  it("are verified by other people's code: Standard Webhooks, ten lines of HMAC, and the SDK", async () => {
    const [other] = endpoints.map(({ secret }) => secret);
    for (const { receiver, secret } of endpoints) {
      for (const { headers, body, event } of inOrder(receiver)) {
        const texts = Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, String(value)]),
        );
        expect(new Webhook(secret).verify(body, texts)).to.deep.equal(event);
        const signature = String(headers['x-service-signature']);
        expect(isSigned(signature, body, secret), event.type).to.equal(true);
        expect(isSigned(signature, Buffer.concat([body, body]), secret)).to.equal(false);
        if (secret !== other) expect(isSigned(signature, body, String(other))).to.equal(false);
        const read = await webhooks.verify(body, headers, secret);
        expect([read.type, read.sequence]).to.deep.equal([event.type, event.sequence]);
      }
    }
  });

  it('are what the OpenAPI document says, field by field', async () => {
    const { json: document } = await world.client.get('/openapi.json', { key: null });
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema({ $id: 'api', ...JSON.parse(JSON.stringify(document)) });
    expect(Object.keys(Object(document.webhooks)).sort()).to.deep.equal([...new Set(FIRED)].sort());
    for (const { event } of endpoints.flatMap(({ receiver }) => inOrder(receiver))) {
      const { post } = Object(document.webhooks)[event.type];
      const { $ref } = post.requestBody.content['application/json'].schema;
      const isValid = ajv.compile({ $ref: `api${$ref}` });
      expect(isValid(event), JSON.stringify([event, isValid.errors])).to.equal(true);
      const { properties } = Object(document.components).schemas[$ref.split('/').at(-1)];
      const { $ref: ofData } = properties.data;
      const documented = Object(document.components).schemas[ofData.split('/').at(-1)].properties;
      expect(event).to.have.all.keys(Object.keys(properties));
      expect(event.data, event.type).to.have.all.keys(Object.keys(documented));
    }
  });

  it('can be read from the feed instead, by the SDK, which waits for the next one', async () => {
    let requests = 0;
    const coffer = createBackendClient({
      baseUrl: world.client.baseUrl,
      secretKey: app.test.secretKey,
      // Much less than a request is held, which is allowed for.
      retry: { attemptTimeoutMs: 1, deadlineMs: 1 },
      fetch: (url, init) => {
        requests += 1;
        return fetch(url, init);
      },
    });
    const feed = coffer.webhooks.feed();
    const [endpoint] = endpoints;
    let received = NOTHING_RECEIVED;
    for (const { event } of endpoint ? inOrder(endpoint.receiver) : []) {
      const { value } = await feed.next();
      const seen = webhooks.orderOf(value, received);
      expect([value.id, value.type, seen.order]).to.deep.equal([event.id, event.type, 'in_order']);
      received = seen.received;
    }
    expect(requests).to.equal(1);
    const next = feed.next();
    await until(() => requests === 2);
    await operator(`${player.userId}/reinstate`, {});
    await operator(`${player.userId}/suspend`, {});
    expect((await next).value).to.include({ type: 'user.suspended', sequence: FIRED.length + 1 });
    expect(requests).to.equal(2);
  });

  it('use one connection for many', async () => {
    for (const { receiver, id } of endpoints) {
      const before = receiver.received.length;
      for (let count = 0; count < 10; count += 1) {
        const path = `/portal/app/${app.appId}/webhooks/${id}/test`;
        const sent = requireStatus(await world.client.post(path, {}, { key: token }), 200);
        expect(sent.json).to.include({ delivered: true, status: 200 });
      }
      const used = receiver.received.slice(before).map(({ connection }) => connection);
      // A connection may be free only a moment after its answer was read.
      expect(new Set(used).size).to.be.at.most(2);
    }
  });
});
