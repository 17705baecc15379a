/** The command line for webhooks and a service that runs apart: operator routes at a port of their own, a CA of a studio. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readOperatorFile } from '@coffer/portal/operatorFile';
import { webhooks } from '@coffer/sdk';
import { newCertificates, until } from '@coffer/testing';
import { startSecureReceiver } from '@coffer/webhooks/testing';
import { expect } from 'chai';
import { type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

interface Received {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

describe('coffer webhooks, beside a running service', () => {
  const processes = serviceProcesses();
  let service: ServiceProcess;
  let appId: string;

  const coffer = (...args: readonly string[]) =>
    processes.command(args, { COFFER_DATA_DIR: service.dataFolder });
  const answered = async (...args: readonly string[]) => {
    const { exitCode, stdout, stderr } = await coffer(...args, '--json');
    expect(exitCode, stderr).to.equal(0);
    return JSON.parse(stdout);
  };
  const newUser = async () => (await answered('users', 'create', '--app', appId, '--env', 'test')).userId;

  let certificates: Awaited<ReturnType<typeof newCertificates>>;
  before(async () => {
    certificates = await newCertificates();
    const dataFolder = await processes.newDataFolder();
    const ca = join(dataFolder, 'ca.pem');
    await writeFile(ca, certificates.ca);
    service = await processes.start({
      dataFolder,
      variables: { COFFER_OPERATOR_PORT: '0', NODE_EXTRA_CA_CERTS: ca },
    });
    appId = (await answered('apps', 'create', '--name', 'Arcade')).appId;
  });

  it('finds the portal where operator routes have a port of their own', async () => {
    const operator = await readOperatorFile(service.dataFolder);
    expect(new URL(String(operator?.url)).port).not.to.equal(new URL(service.url).port);
    expect(await answered('webhooks', 'list', '--app', appId)).to.deep.equal([]);
  });

  it('delivers under a certificate authority that NODE_EXTRA_CA_CERTS names, and under no other', async () => {
    for (const [trusted, result] of [
      [certificates, { delivered: true, status: 200, error: null }],
      [await newCertificates(), { delivered: false, status: null, error: 'tls_failed' }],
    ] as const) {
      const receiver = await startSecureReceiver(trusted);
      const url = `${receiver.url}/hooks`;
      const { id } = await answered('webhooks', 'create', '--app', appId, '--url', url, '--env', 'test');
      expect(await answered('webhooks', 'test', '--app', appId, '--webhook', id)).to.include(result);
      receiver.close();
    }
  });

  it('listen hands events on to this machine, waits for a receiver that is away, and goes on after it was ended', async () => {
    const received: Received[] = [];
    const listenOn = async (port: number): Promise<Server> => {
      const server = createServer(async (request, response) => {
        received.push({ headers: request.headers, body: Buffer.concat(await request.toArray()) });
        response.writeHead(received.length === 1 ? 500 : 204).end();
      });
      await once(server.listen(port, '127.0.0.1'), 'listening');
      return server;
    };
    const close = async (server: Server) => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    let server = await listenOn(0);
    const { port } = server.address() as AddressInfo;
    const forward = `http://127.0.0.1:${port}/hooks`;
    const started = (...args: readonly string[]) =>
      processes.startCommand(['webhooks', 'listen', '--app', appId, '--forward', forward, ...args], {
        COFFER_DATA_DIR: service.dataFolder,
      });

    await newUser();
    const listening = started();
    await until(() => listening.logs().includes('Events after '));
    const secret = /whsec_\S+/.exec(listening.logs())?.[0] ?? '';
    const first = await newUser();
    await until(() => received.length === 1);
    await close(server);
    const second = await newUser();
    await until(() => listening.logs().includes('Waiting: '));
    server = await listenOn(port);
    await until(() => received.length === 2);
    await until(() => listening.logs().includes(' 204\n'));
    listening.interrupt();
    const { exitCode, stdout, stderr } = await listening.ended;
    expect(exitCode).to.equal(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.replace(/ evt_\S+/, ''))).to.have.length(2);
    expect(lines[0]).to.match(/^\d+ user\.created evt_\w+ 500$/);
    expect(lines[1]).to.match(/^\d+ user\.created evt_\w+ 204$/);

    const third = await newUser();
    const after = /--after (\d+)/.exec(stderr)?.[1] ?? '';
    const again = started('--after', after, '--secret', secret);
    await until(() => received.length === 3);
    await until(() => again.logs().includes(' 204\n'));
    again.interrupt();
    expect(await again.ended).to.include({ exitCode: 0 });
    await close(server);
    const events = await Promise.all(
      received.map(({ headers, body }) => webhooks.verify(body, headers, secret)),
    );
    expect(events.map(({ data }) => Object(data).id)).to.deep.equal([first, second, third]);
  });
});
