import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { newCertificates, until } from '@coffer/testing';
import { expect } from 'chai';
import { type NameServer, startNameServer } from '../testing/nameServer.ts';
import { type SecureReceiver, startSecureReceiver } from '../testing/secureReceiver.ts';
import { type ResolveHost, resolveByNameServers } from './endpointUrl.ts';
import { createPoster, type Poster, type Posting } from './post.ts';

const BODY = Buffer.from('{"type":"user.created"}');

describe('a delivery over HTTP', () => {
  const opened: (Server | TcpServer)[] = [];
  const posters: Poster[] = [];
  afterEach(async () => {
    await Promise.all(posters.splice(0).map((poster) => poster.close()));
    for (const server of opened.splice(0)) {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    }
  });

  const poster = (options: Parameters<typeof createPoster>[0] = {}) => {
    const made = createPoster(options);
    posters.push(made);
    return made;
  };
  const portOf = async (server: Server | TcpServer) => {
    opened.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const receiver = async (answer: RequestListener) =>
    `http://127.0.0.1:${await portOf(createServer(answer))}/hooks`;
  const raw = async (text: string) =>
    `http://127.0.0.1:${await portOf(
      createTcpServer((socket) => {
        socket.on('error', () => undefined).once('data', () => socket.end(text));
      }),
    )}/`;
  const posting = (url: string, differently: Partial<Posting> = {}): Posting => ({
    url,
    reach: 'loopback',
    headers: { 'x-service-event': 'user.created' },
    body: BODY,
    ...differently,
  });

  it('carries the exact bytes and the headers', async () => {
    let seen: { headers: IncomingMessage['headers']; body: Buffer } | undefined;
    const url = await receiver(async (request, response) => {
      seen = { headers: request.headers, body: Buffer.concat(await request.toArray()) };
      response.end('thanks');
    });
    expect(await poster().post(posting(url))).to.include({ status: 200, error: null, answerHead: 'thanks' });
    expect(seen?.body.equals(BODY)).to.equal(true);
    expect(seen?.headers).to.include({
      'content-type': 'application/json',
      'x-service-event': 'user.created',
    });
  });

  it('keeps connections for the next ones', async () => {
    const sockets = new Set<unknown>();
    const url = await receiver((request, response) => {
      sockets.add(request.socket);
      request.resume().on('end', () => response.end());
    });
    const one = poster();
    for (let count = 0; count < 5; count += 1) await one.post(posting(url));
    // A connection may be free only a moment after its answer was read.
    expect(sockets.size).to.be.at.most(2);
  });

  for (const status of [204, 301, 302, 304, 307, 400, 404, 410, 429, 500, 503]) {
    it(`takes ${status} for the answer`, async () => {
      let requests = 0;
      const url = await receiver((_request, response) => {
        requests += 1;
        response.writeHead(status, { location: '/elsewhere', 'retry-after': '0' }).end();
      });
      expect(await poster().post(posting(url))).to.include({ status, error: null });
      expect(requests, 'redirects are not followed').to.equal(1);
    });
  }

  it('reads 16 KiB of an answer of 10 MB and closes the connection', async () => {
    let sentBytes = 0;
    const url = await receiver((_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      response.on('error', () => undefined);
      const more = () => {
        while (!response.destroyed && sentBytes < 10_000_000) {
          sentBytes += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const outcome = await poster().post(posting(url));
    expect(outcome).to.include({ status: 200, error: null, answerHead: 'x'.repeat(1_024) });
    expect(sentBytes).to.be.lessThan(10_000_000);
  });

  it('replaces in the head of the answer what a database does not take', async () => {
    const url = await receiver((_request, response) => response.end(Buffer.from([0x61, 0, 0xff, 0x62])));
    expect(await poster().post(posting(url))).to.include({ answerHead: 'a\u{FFFD}\u{FFFD}b' });
  });

  it('gives up in time on a receiver that never answers, or never ends its answer', async () => {
    const silent = await receiver(() => undefined);
    const dripping = await receiver((_request, response) => void response.writeHead(200).write('.'));
    const deaf = `http://127.0.0.1:${await portOf(createTcpServer(() => undefined))}/`;
    const one = poster({ timeoutMs: 50 });
    for (const url of [silent, dripping, deaf])
      expect(await one.post(posting(url)), url).to.include({ status: null, error: 'timeout' });
  });

  it('breaks off the exchanges of a lane, and no other', async () => {
    const waiting: ServerResponse[] = [];
    const { promise: bothAsked, resolve: bothHaveAsked } = Promise.withResolvers<void>();
    const url = await receiver((_request, response) => {
      if (waiting.push(response) === 2) bothHaveAsked();
    });
    const one = poster();
    const broken = one.post(posting(url, { lane: 'a' }));
    const other = one.post(posting(url, { lane: 'b' }));
    await bothAsked;
    one.breakOff('a');
    expect(await broken).to.include({ status: null });
    for (const response of waiting) response.end();
    expect(await other).to.include({ status: 200 });
  });

  describe('to receivers that offer HTTP/2 as well', () => {
    let certificates: Awaited<ReturnType<typeof newCertificates>>;
    const receivers: SecureReceiver[] = [];
    before(async () => {
      certificates = await newCertificates();
    });
    afterEach(() => {
      for (const one of receivers.splice(0)) one.close();
    });
    const offering = async (answer?: Parameters<typeof startSecureReceiver>[1]) => {
      const one = await startSecureReceiver(certificates, answer);
      receivers.push(one);
      return one;
    };

    it('does not use a connection again that has gone silent', async () => {
      const seen = new Set<number>();
      const { url } = await offering(({ connection }, response) => {
        if (connection > 0 || !seen.has(connection)) response.end();
        seen.add(connection);
      });
      const one = poster({ ca: certificates.ca, timeoutMs: 2_000 });
      const outcomes: (string | number | null)[] = [];
      for (let count = 0; count < 4; count += 1) {
        const { status, error } = await one.post(posting(url));
        outcomes.push(error ?? status);
      }
      expect(outcomes.filter((outcome) => outcome !== 200)).to.deep.equal(['timeout']);
    });

    it('closes the connections to all of them once they are idle', async () => {
      const one = poster({ ca: certificates.ca });
      for (let count = 0; count < 20; count += 1) {
        const { url } = await offering();
        expect(await one.post(posting(url))).to.include({ status: 200 });
      }
      await until(() => receivers.every((receiver) => receiver.openConnections() === 0));
    });
  });

  it('names a refused connection, a reset and an answer that is not HTTP', async () => {
    const gone = createTcpServer();
    const port = await portOf(gone);
    gone.close();
    await once(gone, 'close');
    expect(await poster().post(posting(`http://127.0.0.1:${port}/`))).to.include({
      error: 'connection_refused',
    });

    const resetting = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const reset = `http://127.0.0.1:${await portOf(resetting)}/`;
    expect(await poster().post(posting(reset))).to.include({ status: null, error: 'connection_reset' });

    expect(await poster().post(posting(await raw('SSH-2.0-OpenSSH_9.9\r\n')))).to.include({
      error: 'invalid_answer',
    });
    const cutOff = await raw('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal');
    expect(await poster().post(posting(cutOff))).to.include({ status: null, error: 'connection_reset' });
  });

  it('does not speak TLS with a server that does not', async () => {
    const url = (await receiver((_request, response) => response.end())).replace('http:', 'https:');
    expect(await poster().post(posting(url))).to.include({ status: null, error: 'tls_failed' });
  });

  it('names a host that does not exist', async () => {
    const resolveHost: ResolveHost = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const outcome = await poster({ resolveHost }).post(posting('https://gone.example/', { reach: 'public' }));
    expect(outcome).to.include({ status: null, error: 'host_not_found' });
  });

  describe('to names', () => {
    const nameServers: NameServer[] = [];
    afterEach(() => {
      for (const one of nameServers.splice(0)) one.close();
    });
    const nameServerFor = async (names: Parameters<typeof startNameServer>[0]) => {
      const one = await startNameServer(names);
      nameServers.push(one);
      return one;
    };

    it('does not wait for those whose name servers are silent', async () => {
      const { address, asked } = await nameServerFor({ 'hooks.example': { ipv4: ['127.0.0.1'] } });
      const url = await receiver((_request, response) => response.end());
      const one = poster({ resolveHost: resolveByNameServers([address]) });
      const to = (host: string) =>
        one.post(posting(`http://${host}:${new URL(url).port}/`, { reach: 'insecure' }));
      for (let count = 0; count < 50; count += 1) void to(`silent${count}.example`);
      await until(() => asked.size === 50);
      expect(await to('hooks.example')).to.include({ status: 200 });
    });

    it('says that a host is not found if no name server can be reached', async () => {
      const gone = await startNameServer();
      gone.close();
      const one = poster({ resolveHost: resolveByNameServers([gone.address]) });
      expect(await one.post(posting('https://hooks.example/', { reach: 'public' }))).to.include({
        status: null,
        error: 'host_not_found',
      });
    });

    it('stops looking for a host when the exchange has timed out, and when it is closed', async () => {
      const signals: AbortSignal[] = [];
      const resolveHost: ResolveHost = (_host, signal) => {
        signals.push(signal);
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('It was ended.')));
        });
      };
      const to = (one: Poster) => one.post(posting('https://hooks.example/', { reach: 'public' }));
      expect(await to(poster({ resolveHost, timeoutMs: 50 }))).to.include({ error: 'timeout' });
      await until(() => signals[0]?.aborted === true);
      const patient = poster({ resolveHost });
      void to(patient);
      await until(() => signals.length === 2);
      await patient.close();
      expect(signals[1]?.aborted).to.equal(true);
    });
  });

  it('checks the address that it dials, on each attempt: a name that changes over gets nothing', async () => {
    let requests = 0;
    const url = await receiver((_request, response) => {
      requests += 1;
      response.writeHead(200, { connection: 'close' }).end();
    });
    const { port } = new URL(url);
    const answers = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1'];
    const resolved: string[] = [];
    const resolveHost: ResolveHost = async (host) => {
      resolved.push(host);
      const address = answers.shift() ?? '0.0.0.0';
      return [{ address, family: address.includes(':') ? 6 : 4 }];
    };
    const one = poster({ resolveHost });
    const post = () => one.post(posting(`http://rebinding.example:${port}/`, { reach: 'insecure' }));
    expect(await post()).to.include({ status: 200 });
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect(await post()).to.deep.include({ status: null, error: 'url_not_allowed', answerHead: '' });
    expect(requests).to.equal(1);
    expect(resolved).to.deep.equal(Array(4).fill('rebinding.example'));
  });

  it('does not reach this machine from an endpoint on the internet, by name or by number', async () => {
    let requests = 0;
    const url = await receiver((_request, response) => {
      requests += 1;
      response.end();
    });
    const { port } = new URL(url);
    const one = poster({ resolveHost: async () => [{ address: '127.0.0.1', family: 4 }] });
    for (const host of ['hooks.example', '127.0.0.1', '[::1]', '2130706433'])
      expect(await one.post(posting(`https://${host}:${port}/`, { reach: 'public' }))).to.include({
        error: 'url_not_allowed',
      });
    expect(requests).to.equal(0);
  });

  it('ignores the proxies of the environment', async () => {
    const before = process.env.HTTP_PROXY;
    process.env.HTTP_PROXY = 'http://127.0.0.1:1';
    try {
      const url = await receiver((_request, response) => response.end());
      expect(await poster().post(posting(url))).to.include({ status: 200 });
    } finally {
      if (before === undefined) delete process.env.HTTP_PROXY;
      else process.env.HTTP_PROXY = before;
    }
  });
});
