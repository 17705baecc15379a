import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { CofferError } from './cofferError.ts';
import { webhooks } from './webhooks.ts';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const NOW = 1_800_000_000;
const now = () => NOW * 1000;
const envelope = {
  id: 'evt_1',
  type: 'user.created',
  createdAt: '2027-01-15T08:00:00.000Z',
  appId: 'app_1',
  environment: 'test',
  sequence: 7,
  previousSequence: 5,
  data: { id: 'usr_é', environment: 'test' },
};
const body = JSON.stringify(envelope);

const v1 = (secret: string, t = NOW) =>
  `v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`;
const ours = (secret = SECRET, t = NOW) => ({ 'x-service-signature': `t=${t},${v1(secret, t)}` });
const standard = (secret = SECRET, t = NOW) => ({
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(t),
  'webhook-signature': new Webhook(secret).sign('evt_1', new Date(t * 1000), body),
});
/** What is verified is read as well. */
const verified = (event: object) => {
  const text = JSON.stringify(event);
  const mac = createHmac('sha256', SECRET).update(`${NOW}.${text}`).digest('hex');
  return webhooks.verify(text, { 'x-service-signature': `t=${NOW},v1=${mac}` }, SECRET, { now });
};
const refusal = (verifying: Promise<unknown>) =>
  verifying.then(
    () => 'verified',
    (error: unknown) => (error instanceof CofferError ? error.code : String(error)),
  );

describe('webhooks.verify', () => {
  for (const [scheme, sign] of [
    ['of the service', ours],
    ['of Standard Webhooks', standard],
  ] as const) {
    describe(`with the signature ${scheme}`, () => {
      it('answers the event', async () => {
        const event = await webhooks.verify(body, sign(), SECRET, { now });
        expect(event).to.deep.equal(envelope);
      });

      it('takes bytes, and headers of any kind', async () => {
        const bytes = new TextEncoder().encode(body);
        expect(await webhooks.verify(bytes, new Headers(sign()), SECRET, { now })).to.include({
          sequence: 7,
        });
      });

      it('takes either secret while one replaces the other', async () => {
        for (const secret of [SECRET, OTHER])
          expect(await webhooks.verify(body, sign(secret), [SECRET, OTHER], { now })).to.include({
            sequence: 7,
          });
      });

      it('refuses another secret, another body and another time', async () => {
        for (const verifying of [
          webhooks.verify(body, sign(OTHER), SECRET, { now }),
          webhooks.verify(`${body} `, sign(), SECRET, { now }),
          webhooks.verify(body, sign(SECRET, NOW - 301), SECRET, { now }),
          webhooks.verify(body, sign(SECRET, NOW + 301), SECRET, { now }),
          webhooks.verify(body, sign(), [], { now }),
        ])
          expect(await refusal(verifying)).to.equal('sdk/webhook_not_verified');
      });

      it('takes a signature within the tolerance', async () => {
        expect(await webhooks.verify(body, sign(SECRET, NOW - 300), SECRET, { now })).to.include({
          sequence: 7,
        });
        const options = { now, toleranceSeconds: 10 };
        expect(await refusal(webhooks.verify(body, sign(SECRET, NOW - 11), SECRET, options))).to.equal(
          'sdk/webhook_not_verified',
        );
      });
    });
  }

  it('takes any of several signatures', async () => {
    const headers = { 'X-Service-Signature': `t=${NOW},${v1(OTHER)},${v1(SECRET)}` };
    expect(await webhooks.verify(body, headers, SECRET, { now })).to.include({ sequence: 7 });
  });

  for (const header of [
    '',
    't=',
    `t=${NOW}`,
    v1(SECRET),
    `t=x,${v1(SECRET)}`,
    `t=${NOW},v1=00`,
    `t=${NOW},v0=${'0'.repeat(64)}`,
  ]) {
    it(`refuses ${JSON.stringify(header.slice(0, 20))}`, async () =>
      expect(
        await refusal(webhooks.verify(body, { 'x-service-signature': header }, SECRET, { now })),
      ).to.equal('sdk/webhook_not_verified'));
  }

  it('refuses what carries no signature', async () =>
    expect(await refusal(webhooks.verify(body, {}, SECRET))).to.equal('sdk/webhook_not_verified'));

  it('takes a Request', async () => {
    const request = new Request('https://studio.example/hooks', { method: 'POST', headers: ours(), body });
    expect(await webhooks.verifyRequest(request, SECRET, { now })).to.include({ sequence: 7 });
  });

  it('takes a request of Express whose body is raw, and says so if it is not', async () => {
    const raw = { headers: ours(), body: Buffer.from(body) };
    expect(await webhooks.verifyExpress(raw, SECRET, { now })).to.include({ sequence: 7 });
    const parsedBody = { headers: ours(), body: JSON.parse(body) };
    expect(await refusal(webhooks.verifyExpress(parsedBody, SECRET, { now }))).to.equal(
      'sdk/webhook_not_verified',
    );
  });

  it('answers data by the type: amounts are bigint', async () => {
    const data = {
      id: 'mov_1',
      ref: 'order-1',
      kind: 'deposit',
      userId: 'usr_1',
      currency: 1,
      code: 'SOL',
      amount: '18446744073709551615',
      signature: 'Sig',
      environment: 'test',
      error: null,
    };
    const event = await verified({ ...envelope, type: 'deposit.received', data });
    if (webhooks.isTest(event) || event.type !== 'deposit.received') return expect.fail(event.type);
    const { amount, currency, ref }: { amount: bigint; currency: number | null; ref: string } = event.data;
    expect([amount, currency, ref]).to.deep.equal([18446744073709551615n, 1, 'order-1']);
    const broken = { ...data, amount: '1.5' };
    expect(await refusal(verified({ ...envelope, type: 'deposit.received', data: broken }))).to.equal(
      'sdk/unexpected_answer',
    );
  });

  it('answers a test event, and a type that it does not know, as they came', async () => {
    for (const other of [
      { ...envelope, type: 'deposit.received', sequence: 0, previousSequence: null, data: { test: true } },
      { ...envelope, type: 'wallet.frozen', data: { amount: '1' } },
    ]) {
      expect(await verified(other)).to.deep.equal(other);
      expect(webhooks.isTest(await verified(other))).to.equal(other.sequence === 0);
    }
  });
});
