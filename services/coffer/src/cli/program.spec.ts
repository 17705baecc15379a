import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { roles } from '@coffer/host';
import { writeOperatorFile } from '@coffer/portal/operatorFile';
import { expect } from 'chai';
import { variableNames } from '../config.ts';
import { preparedService, runInProcess } from '../testing/commandLine.ts';
import { VERSION } from '../version.ts';

const TOKEN = 'the-operators-token';

describe('the command line', () => {
  const service = preparedService();
  const { answers, answersLines } = service;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-cli-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const run = (line: string, variables?: Readonly<Record<string, string>>) =>
    runInProcess(line, {
      variables: variables ?? { COFFER_URL: service.url, COFFER_OPERATOR_TOKEN: TOKEN },
      workingFolder: folder,
    });

  describe('asks the admin API', () => {
    const rows: readonly [line: string, request: string, body?: unknown][] = [
      ['apps list', 'GET /apps'],
      ['apps create --name Arcade', 'POST /apps', { name: 'Arcade' }],
      ['apps create --name "Two words" --scope scp_1', 'POST /apps', { name: 'Two words', scope: 'scp_1' }],
      ['keys list --app app_1', 'GET /app/app_1/keys'],
      ['keys list --app app_1 --env live', 'GET /app/app_1/keys?environment=live'],
      ['keys create --app app_1 --env test', 'POST /app/app_1/test/keys', {}],
      [
        'keys create --app app_1 --env live --kind publishable',
        'POST /app/app_1/live/keys',
        { kind: 'publishable' },
      ],
      [
        'keys rotate --app app_1 --env test --grace 60',
        'POST /app/app_1/test/keys/rotate',
        { graceSeconds: 60 },
      ],
      [
        'keys rotate --app app_1 --env test --key key_1',
        'POST /app/app_1/test/keys/rotate',
        { keyId: 'key_1', graceSeconds: 0 },
      ],
      [
        'keys revoke --app app_1 --env test --key key_1',
        'POST /app/app_1/test/keys/revoke',
        { keyId: 'key_1' },
      ],
      ['master-keys status', 'GET /master-keys'],
      ['master-keys rotate', 'POST /master-keys/rotate', {}],
      ['master-keys rotate --env live', 'POST /master-keys/rotate', { environment: 'live' }],
      ['keys rotate-master --env test', 'POST /master-keys/rotate', { environment: 'test' }],
      ['signing-keys list', 'GET /signing-keys'],
      ['signing-keys list --env live', 'GET /signing-keys?environment=live'],
      [
        'signing-keys rotate --env test',
        'POST /signing-keys/rotate',
        { environment: 'test', compromised: false },
      ],
      [
        'signing-keys rotate --env live --compromised',
        'POST /signing-keys/rotate',
        { environment: 'live', compromised: true },
      ],
      ['currencies list --app app_1', 'GET /app/app_1/currencies'],
      [
        'currencies add --app app_1 --id 2 --code CHIP --decimals 6 --mint-test native',
        'POST /app/app_1/currencies',
        { id: 2, code: 'CHIP', decimals: 6, mint: { test: 'native' } },
      ],
      ['settings show --app app_1', 'GET /app/app_1/settings'],
      [
        'settings set --app app_1 poolEscrowEnabled=true test.botToken=1:a=b --unset live.botToken',
        'POST /app/app_1/settings',
        { settings: { poolEscrowEnabled: 'true', 'test.botToken': '1:a=b', 'live.botToken': null } },
      ],
      ['users create --app app_1 --env test', 'POST /app/app_1/test/users', {}],
      ['users create --app app_1 --env test --user usr_1', 'POST /app/app_1/test/users', { userId: 'usr_1' }],
      ['users show --app app_1 --env test --user usr_1', 'GET /app/app_1/test/users/usr_1'],
      [
        'users suspend --app app_1 --env test --user usr_1 --reason fraud',
        'POST /app/app_1/test/users/usr_1/suspend',
        { reason: 'fraud' },
      ],
      [
        'users reinstate --app app_1 --env test --user usr_1',
        'POST /app/app_1/test/users/usr_1/reinstate',
        {},
      ],
      ['users erase --app app_1 --env test --user usr_1', 'POST /app/app_1/test/users/usr_1/erase', {}],
      [
        'accounts show --app app_1 --env test --user usr_1 --currency CHIP',
        'GET /app/app_1/test/users/usr_1/accounts?currency=CHIP',
      ],
      [
        'accounts show --app app_1 --env test --user usr_1 --currency CHIP --at 12',
        'GET /app/app_1/test/users/usr_1/accounts?currency=CHIP&at=12',
      ],
      ['accounts totals --app app_1 --env live', 'GET /app/app_1/live/totals'],
      ['accounts totals --app app_1 --env live --at 12', 'GET /app/app_1/live/totals?at=12'],
      [
        'accounts credit --app app_1 --env test --user usr_1 --currency CHIP --amount 18446744073709551615 --ref r-1',
        'POST /app/app_1/test/users/usr_1/accounts/credit',
        { currency: 'CHIP', amount: '18446744073709551615', ref: 'r-1' },
      ],
      [
        'accounts debit --app app_1 --env test --user usr_1 --currency CHIP --amount 5 --ref r-2 --reason "by hand"',
        'POST /app/app_1/test/users/usr_1/accounts/debit',
        { currency: 'CHIP', amount: '5', ref: 'r-2', reason: 'by hand' },
      ],
      [
        'sessions list --app app_1 --env test --status open --limit 10',
        'GET /app/app_1/test/sessions?status=open&limit=10',
      ],
      [
        'sessions settle --app app_1 --env test --session ses_1',
        'POST /app/app_1/test/sessions/ses_1/settle',
        {},
      ],
      [
        'pools list --app app_1 --env test --status open --currency 2 --limit 10 --cursor abc',
        'GET /app/app_1/test/pools?status=open&limit=10&cursor=abc&currency=2',
      ],
      ['pools show --app app_1 --env live --pool round-1', 'GET /app/app_1/live/pools/round-1'],
      [
        'pools stakes --app app_1 --env test --pool round-1 --status confirmed',
        'GET /app/app_1/test/pools/round-1/stakes?status=confirmed',
      ],
      [
        'referrals show --app app_1 --env test --user usr_1 --limit 10 --cursor abc',
        'GET /app/app_1/test/referrals/users/usr_1?limit=10&cursor=abc',
      ],
      [
        'referrals tree --app app_1 --env live --user usr_1 --depth 2',
        'GET /app/app_1/live/referrals/users/usr_1/tree?depth=2',
      ],
      [
        'referrals history --app app_1 --env test --user usr_1 --currency 2',
        'GET /app/app_1/test/referrals/users/usr_1/history?currency=2',
      ],
      [
        'pools refund --app app_1 --env test --pool round-1 --reason "rained out"',
        'POST /app/app_1/test/pools/round-1/refund',
        { reason: 'rained out' },
      ],
      [
        'portal token --app app_1 --role viewer --ttl 60',
        'POST /app/app_1/token',
        { role: 'viewer', ttlSeconds: 60 },
      ],
      ['streams list --env test', 'GET /streams?environment=test'],
      ['streams show playSession-test.a/b', 'GET /streams/playSession-test.a%2Fb'],
      ['streams verify --env live --app app_1', 'GET /log/verification?environment=live&app=app_1'],
      ['audit head', 'GET /audit/head'],
      [
        `audit verify --since 42 --hash ${'Ab'.repeat(32)}`,
        `GET /audit/verification?since=42&hash=${'ab'.repeat(32)}`,
      ],
      ['streams export --app app_1 --after 7', 'GET /log?app=app_1&after=7'],
    ];
    for (const [line, request, body] of rows) {
      it(line, async () => {
        const isLongTask = request.includes('/verification');
        answersLines([isLongTask ? '{"kind":"result","result":{"ok":true}}' : '{"items":[]}']);
        const { exitCode, stderr } = await run(`${line} --json`);
        expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
        expect(service.asked.map(({ method, url: path }) => `${method} ${path}`)).to.deep.equal([
          request.replace(' ', ' /v1/portal'),
        ]);
        expect(service.asked[0]).to.deep.include({ authorization: `Bearer ${TOKEN}`, body });
      });
    }

    it('with an Idempotency-Key when told so', async () => {
      await run('users create --app app_1 --env test --idempotency-key once');
      expect(service.asked[0]?.idempotencyKey).to.equal('once');
    });
  });

  describe('asks the portal, in a session of its own', () => {
    const rows: readonly [line: string, request: string, body?: unknown, idempotencyKey?: string][] = [
      ['list --app app_1', 'GET '],
      [
        'create --app app_1 --url https://a.example/hooks --events user.created,deposit.received --env live',
        'POST ',
        {
          url: 'https://a.example/hooks',
          events: ['user.created', 'deposit.received'],
          environment: 'live',
        },
      ],
      ['create --app app_1 --url https://a.example', 'POST ', { url: 'https://a.example' }],
      ['rotate --app app_1 --webhook whk_1', 'POST /whk_1/rotate', {}],
      ['rotate --app app_1 --webhook whk_1 --idempotency-key r-1', 'POST /whk_1/rotate', {}, 'r-1'],
      ['test --app app_1 --webhook whk_1', 'POST /whk_1/test', {}],
      ['test --app app_1 --webhook whk_1 --type user.created', 'POST /whk_1/test', { type: 'user.created' }],
      ['log --app app_1 --webhook whk_1', 'GET /whk_1/deliveries'],
      [
        'log --app app_1 --webhook whk_1 --state failed --type user.created --object usr_1 --limit 5',
        'GET /whk_1/deliveries?state=failed&type=user.created&objectId=usr_1&limit=5',
      ],
      [
        'log --app app_1 --webhook whk_1 --since 2026-01-02T03:04:05Z --until 2026-01-03T00:00:00Z',
        'GET /whk_1/deliveries?since=2026-01-02T03%3A04%3A05Z&until=2026-01-03T00%3A00%3A00Z',
      ],
      ['resend --app app_1 --webhook whk_1 --from 3 --to 5', 'POST /whk_1/resend', { from: 3, to: 5 }],
      [
        'resend --app app_1 --webhook whk_1 --failed-since 2026-01-02T03:04:05.000Z',
        'POST /whk_1/resend',
        { failedSince: '2026-01-02T03:04:05.000Z' },
      ],
    ];
    for (const [line, request, body, idempotencyKey] of rows) {
      it(`webhooks ${line}`, async () => {
        answers({ token: 'pst_1' });
        expect(await run(`webhooks ${line} --json`)).to.include({ exitCode: 0, stderr: '' });
        const [session, asked] = service.asked;
        expect(session).to.include({
          method: 'POST',
          url: '/v1/portal/app/app_1/token',
          authorization: `Bearer ${TOKEN}`,
        });
        expect(`${asked?.method} ${asked?.url}`).to.equal(
          request.replace(' ', ' /v1/portal/app/app_1/webhooks'),
        );
        expect(asked).to.deep.include({ authorization: 'Bearer pst_1', body, idempotencyKey });
        expect(service.asked).to.have.length(2);
      });
    }
  });

  describe('prints', () => {
    it('in words which mint of a new currency nobody has checked', async () => {
      const add = 'currencies add --app app_1 --id 2 --code CHIP --decimals 6';
      answers({ id: 2, uncheckedMints: ['live'] });
      expect((await run(add)).stdout).to.include('The mint in live was not checked');
      answers({ id: 2, uncheckedMints: [] });
      expect((await run(add)).stdout).not.to.include('not checked');
    });

    it('a table, or with --json one document, before or after the command', async () => {
      answers({ items: [{ appId: 'app_1', name: 'Arcade' }] });
      const table = await run('apps list');
      expect(table.stdout)
        .to.match(/appId.*name/)
        .and.match(/app_1.*Arcade/);
      for (const line of ['apps list --json', '--json apps list']) {
        expect(JSON.parse((await run(line)).stdout)).to.deep.equal({
          items: [{ appId: 'app_1', name: 'Arcade' }],
        });
      }
    });

    it('the settings of both environments side by side', async () => {
      answers({ test: { poolEscrowEnabled: true }, live: { poolEscrowEnabled: false }, stored: [] });
      expect((await run('settings show --app app_1')).stdout).to.match(/poolEscrowEnabled.*true.*false/);
    });

    it('stored events as the very lines it was sent, or as one document', async () => {
      const lines = ['{"position":"1","data":{"10":1.0,"2":0}}', '{"position":"2","data":{}}'];
      answersLines(lines);
      expect((await run('streams export')).stdout).to.equal(`${lines.join('\n')}\n`);
      const { stdout } = await run('streams export --json');
      expect(stdout).to.include(lines[0]);
      expect(JSON.parse(stdout)).to.have.length(2);
      answersLines([]);
      expect((await run('streams export --json')).stdout).to.equal('[]\n');
    });
  });

  describe('exits with', () => {
    it('1 and the code on standard error when the service refuses', async () => {
      answers({ code: 'portal/app_not_found', message: 'No such app.', details: { appId: 'app_1' } }, 404);
      const { exitCode, stdout, stderr } = await run('keys list --app app_1 --json');
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 1, stdout: '' });
      expect(stderr).to.equal('portal/app_not_found: No such app.\n{"appId":"app_1"}\n');
    });

    const misuses = [
      '',
      'nonsense',
      'apps',
      'apps create',
      'apps list --unknown',
      'apps list extra',
      'keys create --app app_1',
      'keys create --app app_1 --env prod',
      'keys rotate --app app_1 --env test --grace soon',
      'currencies add --app app_1 --id 1.5 --code A --decimals 0',
      'settings set --app app_1',
      'settings set --app app_1 botToken',
      'accounts credit --app app_1 --env test --user usr_1 --currency CHIP --amount 1',
      'streams show',
      'webhooks list',
      'webhooks create --app app_1',
      'webhooks rotate --app app_1',
      'webhooks log --app app_1 --webhook whk_1 --state lost',
      'webhooks listen --app app_1',
      'webhooks listen --app app_1 --forward nonsense',
      'webhooks listen --app app_1 --forward http://localhost:3000 --secret abc',
      'webhooks listen --app app_1 --forward http://localhost:3000 --after soon',
      `audit verify --since 0 --hash ${'ab'.repeat(32)}`,
      'audit verify --since 1 --hash abc',
      'audit verify --since 1',
    ];
    for (const line of misuses) {
      it(`2 on wrong usage: coffer ${line}`, async () => {
        const { exitCode, stdout, stderr } = await run(line);
        expect({ exitCode, stdout, asked: service.asked }).to.deep.equal({
          exitCode: 2,
          stdout: '',
          asked: [],
        });
        expect(stderr).not.to.equal('');
      });
    }

    it('0 when asked for help', async () => {
      const { exitCode, stdout } = await run('keys rotate --help');
      expect(exitCode).to.equal(0);
      expect(stdout).to.include('--grace <seconds>').and.include('--json');
    });

    const misspelt = [
      ['keyz list', 'Did you mean keys?'],
      ['keys lst --app app_1', 'Did you mean list?'],
      ['apps create --nmae Arcade', 'Did you mean --name?'],
      ['accounts credit --app app_1 --curency CHIP', 'Did you mean --currency?'],
      ['apps list --jsn', 'Did you mean --json?'],
    ] as const;
    for (const [line, nearest] of misspelt) {
      it(`2 and the nearest name to a misspelt one: coffer ${line}`, async () => {
        const { exitCode, stderr } = await run(line);
        expect(exitCode).to.equal(2);
        expect(stderr).to.include(nearest).and.include('--help');
      });
    }

    it('0 and the version', async () => {
      expect(await run('--version')).to.include({ exitCode: 0, stdout: `${VERSION}\n` });
    });

    it('3 without a service: none was ever started here, none answers, or something else does', async () => {
      const nowhere = await run('apps list', {});
      expect(nowhere.exitCode).to.equal(3);
      expect(nowhere.stderr).to.include('operator.json').and.include('npm start');

      const silent = await run('apps list', {
        COFFER_URL: 'http://127.0.0.1:1',
        COFFER_OPERATOR_TOKEN: TOKEN,
      });
      expect(silent.exitCode).to.equal(3);
      expect(silent.stderr).to.include('http://127.0.0.1:1/v1');

      service.prepared = { status: 404, text: '<html>', breaksOff: false };
      expect(await run('apps list')).to.include({ exitCode: 3, stdout: '' });
    });

    it('3 and where to resume when the connection breaks in the middle of the log', async () => {
      answersLines(['{"position":"41"}', '{"position":"42"}'], true);
      const { exitCode, stdout, stderr } = await run('streams export');
      expect(exitCode).to.equal(3);
      expect(stdout).to.equal('{"position":"41"}\n{"position":"42"}\n');
      expect(stderr).to.include('--after 42');
    });
  });

  describe('finds the service', () => {
    it('by the file that it leaves in its data folder', async () => {
      await writeOperatorFile(folder, { url: `${service.url}/v1`, token: 'from-the-file' });
      answers({ items: [] });
      expect(await run('apps list', { COFFER_DATA_DIR: folder })).to.include({ exitCode: 0 });
      expect(service.asked[0]).to.include({ url: '/v1/portal/apps', authorization: 'Bearer from-the-file' });
    });

    it('by COFFER_URL with or without the version, before the file', async () => {
      await writeOperatorFile(folder, { url: 'http://127.0.0.1:1/v1', token: 'from-the-file' });
      for (const COFFER_URL of ['', '/', '/v1', '/v1/'].map((end) => service.url + end)) {
        await run('apps list', { COFFER_DATA_DIR: folder, COFFER_URL, COFFER_OPERATOR_TOKEN: TOKEN });
      }
      expect(service.asked.map((request) => request.url)).to.deep.equal(Array(4).fill('/v1/portal/apps'));
      expect(service.asked[0]?.authorization).to.equal(`Bearer ${TOKEN}`);
    });

    it('and sends the token of the file to no other service than that of the file', async () => {
      const COFFER_URL = service.url;
      await writeOperatorFile(folder, { url: 'http://127.0.0.1:1/v1', token: 'from-the-file' });
      const other = await run('apps list', { COFFER_DATA_DIR: folder, COFFER_URL });
      expect(other.exitCode).to.equal(2);
      expect(other.stderr).to.include('COFFER_OPERATOR_TOKEN').and.not.to.include('from-the-file');
      expect(service.asked).to.deep.equal([]);
      await writeOperatorFile(folder, { url: `${service.url}/v1`, token: 'from-the-file' });
      answers({ items: [] });
      expect(await run('apps list', { COFFER_DATA_DIR: folder, COFFER_URL })).to.include({ exitCode: 0 });
      expect(service.asked[0]?.authorization).to.equal('Bearer from-the-file');
    });
  });

  describe('says in its help', () => {
    /** The line that describes an option, a role or a variable. */
    const lineOf = async (command: string, name: string) => {
      const { stdout } = await run(`${command} --help`);
      return stdout.split('\n').find((line) => line.trim().startsWith(`${name} `)) ?? '';
    };

    it('which options are required, and which are not', async () => {
      expect(await lineOf('keys create', '--app')).to.match(/\(required\)$/);
      expect(await lineOf('keys create', '--kind')).not.to.match(/required/);
      expect(await lineOf('currencies add', '--code')).to.match(/\(required\)$/);
    });

    it('what each role does, and what each variable is', async () => {
      for (const name of [...roles, ...variableNames]) {
        expect(await lineOf('run', name), name).to.match(/^ {2}\S+ {2,}\S/);
      }
    });
  });

  describe('tells where the database is', () => {
    it('by DATABASE_URL, as a bare line for other tools', async () => {
      const variables = { DATABASE_URL: 'postgres://me@db.example/coffer' };
      expect(await run('database url', variables)).to.include({
        exitCode: 0,
        stdout: 'postgres://me@db.example/coffer\n',
      });
      const { stdout } = await run('database url --json', variables);
      expect(JSON.parse(stdout)).to.deep.equal({ url: variables.DATABASE_URL });
    });

    it('or exits with 3 where none runs, and makes nothing', async () => {
      const { exitCode, stderr } = await run('database url', {});
      expect(exitCode).to.equal(3);
      expect(stderr).to.include('.data').and.include('npm start');
      expect(await readdir(folder)).to.deep.equal([]);
    });
  });

  it('hands `run` and its roles to the service', async () => {
    expect(await run('run api projector')).to.deep.include({
      exitCode: 0,
      roles: ['run', 'api', 'projector'],
    });
    expect((await run('run')).roles).to.deep.equal(['run']);
  });
});
