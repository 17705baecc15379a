import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';

const LAUNCHER = join(import.meta.dirname, 'coffer.mjs');

/** Makes the launcher, but not the program it launches, believe that it runs on an old Node. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  "if (!process.channel) Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })",
)}`;

describe('the program', () => {
  it('keeps its compiled code with the packages, for the next start', () => {
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    const { stderr } = spawnSync(process.execPath, [LAUNCHER, '--version'], {
      env: { ...env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
      encoding: 'utf8',
    });
    expect(stderr).to.include(`${join(import.meta.dirname, '../../../node_modules/.cache/coffer')}/`);
  });
});

describe('the launcher on an old Node', () => {
  let server: Server;
  let calls: ServerResponse[];
  const children: ChildProcess[] = [];

  before(async () => {
    // Never ends its response, so the caller keeps waiting.
    server = createServer((_request, response) => {
      response.write('{}\n');
      calls.push(response);
      server.emit('call', response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());
  beforeEach(() => {
    calls = [];
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  const launch = (...args: readonly string[]) => {
    // A server listening on a port always has an address with a port.
    const { port } = server.address() as AddressInfo;
    const child = spawn(process.execPath, ['--import', OLD_NODE, LAUNCHER, ...args], {
      env: { ...process.env, COFFER_URL: `http://127.0.0.1:${port}`, COFFER_OPERATOR_TOKEN: 'token' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    return child;
  };
  const textOf = async (stream: AsyncIterable<Buffer>) => {
    let text = '';
    for await (const chunk of stream) text += chunk;
    return text;
  };

  it('passes on the arguments, what is printed, and the exit code', async () => {
    const child = launch('keys', 'create', '--app', 'a b');
    const [stdout, stderr, [exitCode]] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ stdout, exitCode }).to.deep.equal({ stdout: '', exitCode: 2 });
    expect(stderr).to.include("required option '--env <environment>'");
  });

  it('passes on SIGTERM and ends as the program does', async () => {
    const child = launch('streams', 'export');
    const [call] = await once(server, 'call');
    const closed = once(call, 'close');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).to.deep.equal([null, 'SIGTERM']);
    await closed;
  });

  it('takes the program with it when it is killed hard', async () => {
    const child = launch('streams', 'export');
    const [call] = await once(server, 'call');
    const closed = once(call, 'close');
    child.kill('SIGKILL');
    await closed;
    expect(calls).to.have.length(1);
  });
});
