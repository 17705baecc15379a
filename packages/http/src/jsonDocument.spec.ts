import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { openSocket, readToEnd } from './testing/sockets.ts';
import { ask, startWorld, type World } from './testing/world.ts';

for (const path of ['/openapi.json', '/errors']) {
  describe(`GET ${path}, which is the same for everybody`, () => {
    let world: World;
    before(async () => {
      world = await startWorld();
    });
    after(() => world.stop(0));

    /** As it comes over the wire: `fetch` decodes. */
    const rawly = async (headers: readonly string[], method = 'GET') => {
      const socket = await openSocket(world.port);
      const socketEnds = readBytes(socket);
      socket.write(
        [`${method} /v1${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers, '', ''].join('\r\n'),
      );
      const bytes = await socketEnds;
      const end = bytes.indexOf('\r\n\r\n');
      return { head: bytes.subarray(0, end).toString(), body: bytes.subarray(end + 4) };
    };
    const readBytes = async (socket: Awaited<ReturnType<typeof openSocket>>) => {
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      await readToEnd(socket);
      return Buffer.concat(chunks);
    };

    it('is compressed for those who accept it, with the same content', async () => {
      const plain = await rawly([]);
      expect(plain.head).to.not.match(/content-encoding/i);
      for (const accepted of ['gzip', 'br, gzip;q=0.5, *;q=0', 'GZIP']) {
        const { head, body } = await rawly([`Accept-Encoding: ${accepted}`]);
        expect(head)
          .to.match(/^content-encoding: gzip$/im)
          .and.match(/^vary: accept-encoding$/im);
        expect(head).to.match(new RegExp(`^content-length: ${body.length}$`, 'im'));
        expect(gunzipSync(body).equals(plain.body)).to.equal(true);
        expect(body.length * 2).to.be.lessThan(plain.body.length);
      }
      for (const accepted of ['identity', 'gzip;q=0', 'gzip; q=0.0, br', 'x-gzipped']) {
        expect((await rawly([`Accept-Encoding: ${accepted}`])).body.equals(plain.body), accepted).to.equal(
          true,
        );
      }
    });

    it('may be cached for five minutes, and is not sent again to those who have it', async () => {
      const { headers } = await ask(`${world.base}${path}`);
      expect(headers.get('cache-control')).to.equal('public, max-age=300');
      const etag = headers.get('etag');
      for (const known of [etag, `"other", ${etag}`, '*']) {
        const { head, body } = await rawly([`If-None-Match: ${known}`]);
        expect(head)
          .to.match(/^HTTP\/1\.1 304 /)
          .and.include(etag);
        expect(body).to.have.lengthOf(0);
      }
      expect((await rawly(['If-None-Match: W/"other"'])).head).to.match(/^HTTP\/1\.1 200 /);
      expect((await rawly([], 'HEAD')).body).to.have.lengthOf(0);
    });

    it('is serialized once', async () => {
      const { stringify } = JSON;
      await ask(`${world.base}${path}`);
      let longest = 0;
      JSON.stringify = new Proxy(stringify, {
        apply: (target, self, parts) => {
          const text = Reflect.apply(target, self, parts);
          longest = Math.max(longest, text?.length ?? 0);
          return text;
        },
      });
      try {
        expect((await rawly([])).body.length).to.be.greaterThan(2_000);
      } finally {
        JSON.stringify = stringify;
      }
      expect(longest).to.be.lessThan(1_000);
    });
  });
}
