/** Master keys of an installation with only a data folder, killed and restarted around a rotation. */
import { readFile, rename, stat } from 'node:fs/promises';
import { expect } from 'chai';
import { masterKeysPath } from './installationMasterKeys.ts';
import { SEVERAL_THREADS, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

/** Each command meets one of the threads, and all have the keys. */
const OWN_TOKEN = { COFFER_OPERATOR_TOKEN: '', ...SEVERAL_THREADS };

describe('master keys, with nothing but a data folder', () => {
  // The first start makes a database cluster.
  const processes = serviceProcesses();
  let dataFolder: string;
  let service: ServiceProcess;

  const start = async () => {
    service = await processes.start({ dataFolder, variables: OWN_TOKEN, until: 'listening' });
  };
  const keptText = () => readFile(masterKeysPath(dataFolder), 'utf8');
  const namesOf = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.replace(/:[^:]*$/, ''));
  const coffer = async (line: string) => {
    const end = await processes.command(['--json', ...line.split(' ')], { COFFER_DATA_DIR: dataFolder });
    expect(end, end.stderr).to.include({ exitCode: 0, stderr: '' });
    return JSON.parse(end.stdout).items.map(
      (one: { environment: string; version: number; isCurrent: boolean }) =>
        `${one.environment} ${one.version}${one.isCurrent ? '*' : ''}`,
    );
  };

  before(async () => {
    dataFolder = await processes.newDataFolder();
    await start();
  });

  it('are made, for the owner alone', async () => {
    expect((await stat(masterKeysPath(dataFolder))).mode & 0o777).to.equal(0o600);
    expect(namesOf(await keptText())).to.deep.equal(['test:1', 'live:1']);
    expect(await coffer('master-keys status')).to.deep.equal(['test 1*', 'live 1*']);
  });

  it('are rotated by a command, and there after a kill', async () => {
    expect(await coffer('master-keys rotate --env test')).to.deep.equal(['test 1', 'test 2*', 'live 1*']);
    await service.kill9();
    await start();
    expect(await coffer('keys rotate-master --env live')).to.deep.equal([
      'test 1',
      'test 2*',
      'live 1',
      'live 2*',
    ]);
    expect(namesOf(await keptText())).to.deep.equal(['test:1', 'live:1', 'test:2', 'live:2']);
  });

  it('are in nothing that is printed', async () => {
    for (const line of (await keptText()).trim().split('\n')) {
      const key = line.split(':')[2] ?? '';
      expect(key).to.have.length(44);
      expect(service.logs()).not.to.include(key);
    }
  });

  it('are not made anew when they are missing: the service says so and does not start', async () => {
    await service.terminate();
    await rename(masterKeysPath(dataFolder), `${masterKeysPath(dataFolder)}.away`);
    const variables = { COFFER_DATA_DIR: dataFolder, PORT: '0', ...OWN_TOKEN };
    const end = await processes.command(['run'], variables);
    expect(end).to.include({ exitCode: 2, signal: null });
    expect(end.stderr)
      .to.match(/master-keys is missing/)
      .and.not.match(/^\s+at /m);

    const text = (await readFile(`${masterKeysPath(dataFolder)}.away`, 'utf8')).trim().split('\n');
    const stale = await processes.command(['run'], {
      ...variables,
      COFFER_MASTER_KEYS: text.slice(0, 2).join(),
    });
    expect(stale).to.include({ exitCode: 1, signal: null });
    expect(stale.stderr)
      .to.match(/The master key (test|live) 2 is in use/)
      .and.not.match(/^\s+at /m);

    await rename(`${masterKeysPath(dataFolder)}.away`, masterKeysPath(dataFolder));
    await start();
    expect(await coffer('master-keys status')).to.include('live 2*');
  });
});
