/** Detectable obstacles to a start are reported before anything is created. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { freePortPair } from '@coffer/testing';
import { expect } from 'chai';
import { serviceProcesses, type Variables } from './testing/serviceProcess.ts';

const NO_STACK = /^\s+at /m;

describe('coffer run, with something in its way', () => {
  const processes = serviceProcesses();
  let squatter: Server;
  let taken: string;
  let dataFolder: string;

  before(async () => {
    const beside = await freePortPair();
    taken = String(beside + 1);
    squatter = createServer().listen(beside + 1, '127.0.0.1');
    await once(squatter, 'listening');
  });
  after(() => squatter.close());
  beforeEach(async () => {
    dataFolder = join(await processes.newDataFolder(), 'data');
  });

  const expectRefusal = async (line: string, variables: Variables, ...told: readonly string[]) => {
    const end = await processes.command(line.split(' '), {
      COFFER_DATA_DIR: dataFolder,
      PORT: '0',
      ...variables,
    });
    expect(end).to.include({ exitCode: 1, signal: null, stdout: '' });
    expect(end.stderr).not.to.match(NO_STACK);
    for (const text of told) expect(end.stderr).to.include(text);
    expect(existsSync(dataFolder), 'the data folder is made').to.equal(false);
  };

  for (const [line, variable] of [
    ['run', 'PORT'],
    ['run', 'COFFER_OPERATOR_PORT'],
    ['run', 'COFFER_CHAIN_PORT'],
    ['run', 'COFFER_STORE_GATEWAY_PORT'],
    ['run projector', 'COFFER_SYSTEM_PORT'],
  ] as const) {
    it(`says that ${variable} is taken before it makes anything`, async () => {
      await expectRefusal(line, { [variable]: taken }, `The port ${taken} is taken`, `Set ${variable} to`);
    });
  }

  it('says that the port beside that of the chain is taken', async () => {
    const beside = String(Number(taken) - 1);
    const variables = { COFFER_CHAIN_PORT: beside };
    await expectRefusal('run', variables, `The port ${taken} is taken`, 'whose next port is free as well');
  });

  it('says that it was given one port twice', async () => {
    squatter.close();
    await once(squatter, 'close');
    const variables = { PORT: taken, COFFER_STORE_GATEWAY_PORT: taken };
    await expectRefusal(
      'run',
      variables,
      `The port ${taken} is also set in PORT`,
      'COFFER_STORE_GATEWAY_PORT',
    );
  });

  it('says that it was given an address of another machine', async () => {
    await expectRefusal('run', { HOST: '192.0.2.1' }, '192.0.2.1', 'Set HOST');
  });
});
