/**
 * The restore drill: runs the shell blocks of docs/operating/restore.md exactly as written, and stops and starts the
 * service where the document says so.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type Answer,
  type AppPlace,
  createClient,
  errorLines,
  requireStatus,
  setUpApp,
  textOf,
} from '@coffer/host/testing';
import { describeLogTable } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance } from './testing/books.ts';
import { delegatingClient } from './testing/delegatingClient.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DOCUMENT = join(ROOT, 'docs/operating/restore.md');
const EMBEDDED = /(?<=\n## The embedded database\n)[\s\S]*?(?=\n## )/;

const PLACES = [
  { where: 'in the data folder', mode: 0o711 },
  // The server is never root, and keeps its files elsewhere if only root may enter the data folder.
  ...(process.getuid?.() === 0 ? [{ where: 'of a data folder that only root may enter', mode: 0o700 }] : []),
];

for (const { where, mode } of PLACES) {
  describeLogTable(
    'it is put back with its database',
    `the restore drill of the embedded database ${where}`,
    () => {
      const processes = serviceProcesses();
      let blocks: readonly string[];
      let folder: string;
      let dataFolder: string;
      let service: ServiceProcess;
      let place: AppPlace;
      let kept: { readonly userId: string; readonly sessionId: string };
      let settle: { readonly sessionId: string; readonly transactionUuid: string };
      let lost: { readonly body: object; readonly answer: Answer };
      let linesOfBackup: number;

      const client = delegatingClient(() =>
        createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN }),
      );
      const start = async () => {
        service = await processes.start({ dataFolder });
      };
      const shell = (script = 'exit 1') =>
        promisify(execFile)('bash', ['-ec', `npx() { "$@"; }\n${script}`], {
          cwd: folder,
          env: { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}` },
        });
      const listed = async () => {
        const { json } = await place.get('/ledger/sessions');
        return JSON.stringify(json.items);
      };

      before(async () => {
        const text = await readFile(DOCUMENT, 'utf8');
        blocks = [...(EMBEDDED.exec(text)?.[0] ?? '').matchAll(/```sh\n([\s\S]*?)```/g)].map(
          ([, block = '']) => block,
        );
        dataFolder = await processes.newDataFolder();
        folder = await mkdtemp(join(tmpdir(), 'coffer-drill-'));
        // If the specs run as root, the database server does not, and must traverse this folder.
        await chmod(folder, 0o711);
        await symlink(dataFolder, join(folder, '.data'));
        await chmod(dataFolder, mode);
        await start();
        place = (await setUpApp(client)).test;
        kept = await place.newSession('100');
        requireStatus(await place.bet({ sessionId: kept.sessionId, amount: '7' }), 200);
        linesOfBackup = (await client.lines('/portal/log')).length;
      });
      after(() => rm(folder, { recursive: true }));

      it('has a block that makes the backup, and one that restores it', () => {
        expect(blocks).to.have.length(2);
        expect(blocks[1]).to.include('npx coffer consumers reset');
      });

      it('is told at the start where it is kept', () => {
        const isElsewhere = mode === 0o700;
        expect(existsSync(join(dataFolder, 'postgres'))).to.equal(!isElsewhere);
        expect(service.logs().includes('  Database: /var/lib/coffer/')).to.equal(isElsewhere);
      });

      it('makes the backup while the service is stopped', async () => {
        expect(await service.terminate()).to.include({ exitCode: 0 });
        await shell(blocks[0]);
        await start();
      });

      it('cannot be run halfway: a reset beside the running service is refused', async () => {
        const end = await processes.command(['consumers', 'reset'], { COFFER_DATA_DIR: dataFolder });
        expect(end).to.include({ exitCode: 1, stdout: '' });
        expect(end.stderr).to.include(`pid ${service.pid}`);
      });

      it('restores it, and the service is ready with what the backup holds', async () => {
        settle = { sessionId: kept.sessionId, transactionUuid: crypto.randomUUID() };
        requireStatus(await place.settle(settle), 200);
        const userId = await place.newPlayer('30');
        const body = { userId: kept.userId, lockAmount: '20', transactionUuid: crypto.randomUUID() };
        lost = { body, answer: requireStatus(await place.openSession(body), 201) };
        expect(await service.terminate()).to.include({ exitCode: 0 });

        await shell(blocks[1]);
        await start();
        expect(await client.lines('/portal/log')).to.have.length(linesOfBackup);
        expect((await place.balance(kept.sessionId)).json).to.include({ balance: '93' });
        expect(await listed())
          .to.include(kept.sessionId)
          .and.not.include(textOf(lost.answer, 'sessionId'));
        expect(
          (await client.get(`/portal/app/${place.appId}/test/users/${userId}/accounts?currency=CHIP`)).status,
        ).to.equal(404);
      });

      it('is followed by callers who repeat what they have sent since, and have it applied again, once', async () => {
        for (const replayed of [false, true]) {
          expect(await place.settle(settle)).to.include({ status: 200, replayed });
        }
        const opened = await place.openSession(lost.body as Record<string, unknown>);
        expect(opened).to.include({ status: 201, replayed: false });
        expect(textOf(opened, 'sessionId')).to.equal(textOf(lost.answer, 'sessionId'));
        expect(await place.funds(kept.userId)).to.deep.equal({ available: '73', held: '20' });
        await expectBooksToBalance(client);
        expect(errorLines(service.logs().split('\n'))).to.deep.equal([]);
      });
    },
  );
}
