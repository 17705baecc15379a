import { expect } from 'chai';
import { buy, simpleEndpoint } from '../testing/shop.ts';
import { startWorld } from '../testing/world.ts';

const operators = simpleEndpoint({
  path: '/portal/things',
  credential: 'operator',
  handle: async () => ({ status: 200, body: {} }),
});

async function pageOf(path: string, endpoints = [buy, operators]) {
  await using world = await startWorld({ endpoints });
  const response = await fetch(`${world.url}${path}`);
  const text = await response.text();
  const addresses = [...text.matchAll(/(?:href|src)="(\/docs\/[^"]+)"/g)].map(([, address = '']) => address);
  const assets = await Promise.all(
    addresses.map(async (address) => {
      const asset = await fetch(`${world.url}${address}`);
      return { address, status: asset.status, headers: asset.headers, text: await asset.text() };
    }),
  );
  return { status: response.status, headers: response.headers, text, assets };
}

describe('the pages of the API', () => {
  for (const [path, document] of [
    ['/docs', '/v1/openapi.json'],
    ['/docs/operator', '/v1/operator/openapi.json'],
  ] as const) {
    it(`${path} shows ${document}, and begins with text`, async () => {
      const { status, headers, text } = await pageOf(path);
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
      expect(text).to.include(`data-document="${document}"`).and.include('<h1>Coffer');
      expect(text).to.include('<meta name="viewport" content="width=device-width, initial-scale=1">');
    });
  }

  it('exist only where there is something to show', async () => {
    expect((await pageOf('/docs', [operators])).status).to.equal(404);
    expect((await pageOf('/docs/operator', [buy])).status).to.equal(404);
    expect((await pageOf('/docs/operator', [operators])).status).to.equal(200);
  });

  it('admit scripts, styles and calls of their own address alone, and nothing inline', async () => {
    const { headers, text } = await pageOf('/docs');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy)
      .to.include("default-src 'none'")
      .and.include("connect-src 'self'")
      .and.not.include('unsafe');
    expect(text).to.not.match(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/);
  });

  it('fetch what they need from here, compressed, and once', async () => {
    const { assets } = await pageOf('/docs');
    expect(assets.map(({ address }) => address.split('/').at(-1))).to.have.members([
      'swagger-ui.css',
      'page.css',
      'swagger-ui-bundle.js',
      'start.js',
    ]);
    for (const { address, status, headers, text } of assets) {
      expect(status, address).to.equal(200);
      expect(text, address).to.have.length.above(100);
      expect(headers.get('content-type'), address).to.match(/^text\/(css|javascript); charset=utf-8$/);
      expect(headers.get('content-encoding'), address).to.equal('gzip');
      expect(headers.get('cache-control'), address).to.equal('public, max-age=31536000, immutable');
    }
  });

  it('serve no other file, whatever the address says', async () => {
    await using world = await startWorld({ endpoints: [buy] });
    const [{ address } = expect.fail('no asset')] = (await pageOf('/docs')).assets;
    const folder = address.slice(0, address.lastIndexOf('/'));
    for (const path of [
      'page.ts',
      '../page.ts',
      '%2e%2e/page.ts',
      '..%2fpage.ts',
      'swagger-ui-bundle.js.map',
      '',
    ]) {
      const response = await fetch(`${world.url}${folder}/${path}`);
      expect(response.status, path).to.equal(404);
      await response.body?.cancel();
    }
  });

  it('send the document to no validator, and store no key', async () => {
    const { assets } = await pageOf('/docs');
    const start = assets.find(({ address }) => address.endsWith('/start.js'))?.text;
    expect(start).to.include('validatorUrl: null').and.include('persistAuthorization: false');
  });
});
