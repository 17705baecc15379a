import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { newSecret, signedHeaders, signingKey } from './signature.ts';

const body = Buffer.from('{"type":"user.created","data":{"id":"usr_é"}}');
const content = { id: 'evt_1', type: 'user.created', body };
const [current, former] = [newSecret(), newSecret()];

/** As a receiver reads the specification, without any of our code. */
function isOurs(header: string, rawBody: Buffer, secret: string): boolean {
  const t = /^t=(\d+),/.exec(header)?.[1];
  const expected = createHmac('sha256', secret).update(`${t}.${rawBody.toString()}`).digest('hex');
  return header.split(',').slice(1).includes(`v1=${expected}`);
}

describe('the signature of a delivery', () => {
  const now = new Date();
  const signed = signedHeaders(content, [current, former].map(signingKey), now);

  it('is verified by the rules of the specification, with either secret while both are valid', () => {
    const header = signed['x-service-signature'] ?? '';
    expect(isOurs(header, body, current)).to.equal(true);
    expect(isOurs(header, body, former)).to.equal(true);
    expect(isOurs(header, body, newSecret())).to.equal(false);
    expect(isOurs(header, Buffer.concat([body, Buffer.from(' ')]), current)).to.equal(false);
  });

  it('is verified by the library of Standard Webhooks, with either secret', () => {
    for (const secret of [current, former])
      expect(new Webhook(secret).verify(body, signed)).to.deep.equal(JSON.parse(body.toString()));
    expect(() => new Webhook(newSecret()).verify(body, signed)).to.throw();
    expect(() => new Webhook(current).verify(`${body} `, signed)).to.throw();
  });

  it('has the new secret first', () => {
    const alone = signedHeaders(content, [signingKey(current)], now);
    expect(signed['x-service-signature']).to.match(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
    expect(signed['x-service-signature']?.startsWith(alone['x-service-signature'] ?? '?')).to.equal(true);
    expect(signed['webhook-signature']?.startsWith(`${alone['webhook-signature']} v1,`)).to.equal(true);
  });

  it('is that of the attempt: the body stays, the time does not', () => {
    const later = signedHeaders(content, [signingKey(current)], new Date(now.getTime() + 1_800_000));
    expect(later['webhook-id']).to.equal(signed['webhook-id']);
    expect(later['x-service-signature']).not.to.equal(signed['x-service-signature']);
    expect(() => new Webhook(current).verify(body, later)).to.throw('too new');
  });

  it('is right for a secret and a body of any length', () => {
    for (const keyBytes of [1, 32, 43, 44, 64, 65, 200])
      for (const bodyBytes of [0, 1, 4_000, 20_000]) {
        const secret = `whsec_${Buffer.alloc(keyBytes, keyBytes).toString('base64')}`;
        const bytes = Buffer.alloc(bodyBytes, 'é');
        const headers = signedHeaders({ ...content, body: bytes }, [signingKey(secret)], now);
        const t = headers['webhook-timestamp'];
        const mac = (key: Buffer, start: string) => createHmac('sha256', key).update(start).update(bytes);
        const ours = mac(Buffer.from(secret), `${t}.`).digest('hex');
        const standard = mac(Buffer.from(secret.slice(6), 'base64'), `evt_1.${t}.`).digest('base64');
        expect(headers['x-service-signature']).to.equal(`t=${t},v1=${ours}`);
        expect(headers['webhook-signature']).to.equal(`v1,${standard}`);
      }
  });

  it('names the type of the event', () => expect(signed['x-service-event']).to.equal('user.created'));
});
