import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { leakHooks } from './leaks.ts';

describe('what a spec file leaves open', () => {
  it('fails its run until it is closed', async function () {
    const { afterAll } = leakHooks(50);
    const failure = () =>
      afterAll.call(this).then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await failure()).to.equal(undefined);

    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect(String(await failure())).to.include('TCPServerWrap');

    server.close();
    expect(await failure()).to.equal(undefined);
  });
});
