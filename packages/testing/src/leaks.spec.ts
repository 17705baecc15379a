import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { failureOf } from './failures.ts';
import { leakHooks } from './leaks.ts';

describe('what a spec file leaves open', () => {
  it('fails its run until it is closed', async function () {
    // What other files have closed may take a moment to go away.
    await leakHooks().afterAll.call(this);

    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect(String(await failureOf(leakHooks(50).afterAll.call(this)))).to.include('TCPServerWrap');

    server.close();
    await leakHooks().afterAll.call(this);
  });
});
