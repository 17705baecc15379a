import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import pg from 'pg';
import { startPrivateServer } from './postgres.ts';
import { until } from './waiting.ts';

async function query(connectionString: string, text: string): Promise<readonly object[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

describe('a private server', () => {
  it('keeps what was committed, and its address, when it is killed and restarted', async () => {
    const server = await startPrivateServer();
    await query(server.connectionString, 'create table kept as select 7 as id');
    const firstPid = server.postmasterPid;
    await server.killPostmaster();
    await server.restart();
    expect(await query(server.connectionString, 'select id from kept')).to.deep.equal([{ id: 7 }]);
    expect(server.postmasterPid).not.to.equal(firstPid);
    await server.stop();
  });

  it('and its folder are gone soon after the run that started it was killed', async () => {
    const run = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { startPrivateServer } from ${JSON.stringify(import.meta.resolve('./postgres.ts'))};
         process.stdout.write((await startPrivateServer()).connectionString + '\\n');
         setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [connectionString] = await once(createInterface({ input: run.stdout }), 'line');
    const rows = await query(connectionString, `select current_setting('data_directory') as folder`);
    const folder = String(Object.values(rows[0] ?? {})[0]);
    expect(await isThere(folder)).to.equal(true);

    run.kill('SIGKILL');
    await until(async () => !(await isThere(folder)));
    const refused = await query(connectionString, 'select 1').catch((error: Error) => error);
    expect(refused).to.include({ code: 'ECONNREFUSED' });
  });
});
