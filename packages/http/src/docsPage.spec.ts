import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { type Endpoint, endpoint } from './endpoint.ts';
import { html } from './html.ts';
import { buy, purchaseBody, simpleEndpoint, startWorld } from './testing.ts';

async function pageOf(endpoints: readonly Endpoint[]) {
  await using world = await startWorld({ endpoints });
  const response = await fetch(`${world.url}/docs`);
  return { text: await response.text(), headers: response.headers };
}

describe('the documentation page', () => {
  it('shows every endpoint with its fields, an example to paste and its errors', async () => {
    const { text } = await pageOf([buy]);
    for (const part of [
      'id="group-shop"',
      'id="postShopPurchases"',
      '<code>price</code> <span class="req">required</span>',
      'curl -X POST &quot;$COFFER_URL/shop/purchases&quot;',
      'The price exceeds the balance.',
      'secret key',
    ]) {
      expect(text).to.include(part);
    }
  });

  it('fetches nothing, and its policy admits its own style and script only', async () => {
    const { text, headers } = await pageOf([buy]);
    expect(text).to.not.match(/<(link|img|iframe|object)\b|\ssrc=|@import|url\(|\sstyle=|\son\w+=/i);
    expect(text.match(/href="(?!#|\/v1\/)/g)).to.equal(null);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).to.include("default-src 'none'").and.not.include('unsafe');
    for (const element of ['style', 'script']) {
      const source = new RegExp(`<${element}>([^]*?)</${element}>`).exec(text)?.[1] ?? '';
      const hash = createHash('sha256').update(source).digest('base64');
      expect(policy, element).to.include(`${element}-src 'sha256-${hash}'`);
    }
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
  });

  it('names for each endpoint the credential that it takes', async () => {
    for (const [credential, name] of [
      ['sk', 'secret key'],
      ['pk', 'publishable key'],
      ['session', 'player&#39;s access token'],
      ['operator', 'operator token'],
      ['none', 'no credential'],
    ] as const) {
      const described = simpleEndpoint({ path: '/one', credential, handle: () => ({ status: 200 }) });
      const { text } = await pageOf([described]);
      const article = text.slice(text.indexOf('<article id="getOne"')).split('</article>')[0];
      expect(article, credential).to.include(`<span class="auth">${name}</span>`);
    }
  });

  it('takes no text for markup', async () => {
    const described = simpleEndpoint({
      path: '/evil',
      summary: '<script>alert(1)</script>',
      description: '"><img src=x>',
      handle: () => ({ status: 200 }),
    });
    const { text } = await pageOf([described]);
    expect(text).to.include('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).to.not.include('<img');
    expect(html`<a title="${'\'"<&'}">`.text).to.equal('<a title="&#39;&quot;&lt;&amp;">');
  });

  it('names fields in lists by their path', async () => {
    const list = endpoint({
      method: 'POST',
      path: '/shop/lists',
      credential: 'sk',
      summary: 'Buy many',
      success: { status: 201 },
      errors: [],
      body: purchaseBody.extend({ items: purchaseBody.array() }),
      handle: () => ({ status: 201, body: {} }),
    });
    expect((await pageOf([list])).text).to.include('<code>items[].price</code>');
  });
});
