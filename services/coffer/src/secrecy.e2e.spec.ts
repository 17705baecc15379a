/**
 * Looks for secrets and personal data in everything that leaves a running service, at its most verbose.
 *
 * What may be read, and by whom:
 * - Anybody: wallet addresses, publishable keys, the public keys of access tokens, our ids.
 * - The recipient of an answer: a newly created key, the tokens and profile of a sign-in, the profile in GET /me and
 *   in a verification, the key of one's own wallet in its export. In the mail: its code.
 * - In one table, for a day: the key of an exported wallet, sealed for its user.
 * - As given: ids and codes made up by callers (refs, game codes, referral codes, request ids). In refusals: the names
 *   of fields, and to an operator those of a missing app, stream or setting; never a value.
 * - In one table, until used or expired: the nonce of an open challenge, worthless without a signature.
 */
import { randomBytes } from 'node:crypto';
import { createSigningKeys, refreshKeyFrom } from '@coffer/auth';
import { allowSignIn } from '@coffer/auth/testing';
import type { Pool } from '@coffer/database';
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import { type Answer, type Client, createClient, requireStatus, setUpApp } from '@coffer/host/testing';
import { createSecretBox, systemClock } from '@coffer/kernel';
import { createTestDatabase, type MailServer, startMailServer, type TestDatabase } from '@coffer/testing';
import { createMasterKeys, parseMasterKeys } from '@coffer/wallets';
import { createSigner, seedOf } from '@coffer/wallets/testing';
import { expect } from 'chai';
import {
  FIRST_TOUCH,
  PLANTED_FIELD,
  runWithSecrets,
  type SecretRun,
  tablesAsPlaces,
} from './testing/secretRun.ts';
import { findCodes, findSecrets, type Place, type Secret } from './testing/secretSearch.ts';
import { type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { SPEC_MASTER_KEYS, serviceTemplate } from './testing/world.ts';

const SECRETS_KEY = randomBytes(32);
const IDENTITY_KEY = randomBytes(32);
const OPERATOR_TOKEN = `op_${randomBytes(32).toString('base64url')}`;
const MAIL_LOGIN = { user: 'coffer-mailer', password: 'p@ss/word of the mail server' };
const DATABASE_PASSWORD = 'password-of-the-database';
const MASTER_KEYS = parseMasterKeys(SPEC_MASTER_KEYS);

/** Their answers are for the caller: a sign-in, the player, the game's server, whoever creates a key. */
const FOR_THE_ASKER =
  /^POST \/auth\/|^GET \/me$|^POST \/sessions\/verify$|^POST \/wallets\/\w+\/export$|^POST \/portal\/.*\/keys(\/rotate)?$/;

const PLACES = [
  'the output of the service',
  'the output of commands',
  'the events of the log',
  'the tables',
  'refusals',
  'answers to operators and game servers',
  'headers of answers',
  'metrics',
] as const;

describe('what must stay secret', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let databaseUrl: string;
  let mailServer: MailServer;
  let node: ChainWorld;
  let pool: Pool;
  let service: ServiceProcess;
  let run: SecretRun;
  let secrets: readonly Secret[];
  let tables: readonly Place[];
  const texts = new Map<(typeof PLACES)[number], string>();

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    const url = new URL(database.connectionString);
    url.password ||= DATABASE_PASSWORD;
    databaseUrl = url.href;
    mailServer = await startMailServer({ login: MAIL_LOGIN });
    node = await startChainWorld();
    pool = database.pool;
    service = await processes.start({ variables: { ...variables(), SMTP_URL: mailServer.url } });
    const answers: { readonly route: string; readonly answer: Answer }[] = [];
    const client = recorded(
      createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN }),
      (route, answer) => answers.push({ route, answer }),
    );

    await mailServerWithOtherPassword(client);
    run = await runWithSecrets({ client, pool, mailServer, node });
    const { made, output } = await commands();
    await operators(client);
    secrets = [...run.secrets, ...made, ...ownSecrets(), ...(await walletSecrets())];

    texts.set('metrics', await (await fetch(`${service.url}/metrics`)).text());
    texts.set(
      'the events of the log',
      (await client.lines('/portal/log')).map((line) => JSON.stringify(line)).join('\n'),
    );
    texts.set('the output of commands', output);
    const { stdout, stderr } = await service.terminate();
    texts.set('the output of the service', stdout + stderr);
    tables = await tablesAsPlaces(pool);
    texts.set('the tables', tables.map(({ text }) => text).join('\n'));
    const bodies = (isWanted: (route: string, status: number) => boolean) =>
      answers
        .filter(({ route, answer }) => isWanted(route, answer.status))
        .map(({ answer }) => answer.text)
        .join('\n');
    texts.set(
      'refusals',
      bodies((_route, status) => status >= 400),
    );
    texts.set(
      'answers to operators and game servers',
      bodies((route, status) => status < 400 && !FOR_THE_ASKER.test(route)),
    );
    texts.set(
      'headers of answers',
      answers.map(({ answer }) => [...answer.headers].map((pair) => pair.join(': ')).join('\n')).join('\n'),
    );
  });
  after(async () => {
    await mailServer.stop();
    await node.stop();
    await database.drop();
  });

  const variables = () => ({
    DATABASE_URL: databaseUrl,
    SOLANA_TEST_RPC_URL: node.url,
    LOG_LEVEL: 'trace',
    COFFER_MASTER_KEYS: SPEC_MASTER_KEYS,
    COFFER_SECRETS_KEY: SECRETS_KEY.toString('base64'),
    COFFER_IDENTITY_KEY: IDENTITY_KEY.toString('base64'),
    COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    // Every call comes from a different address, to stay clear of the rate limits.
    COFFER_TRUST_PROXY: 'loopback',
  });
  const placesNow = (): readonly Place[] => PLACES.map((name) => ({ name, text: texts.get(name) ?? '' }));

  /** The mail server repeats login and password in its refusal. */
  async function mailServerWithOtherPassword(client: Client): Promise<void> {
    const port = Number(new URL(mailServer.url).port);
    await mailServer.stop();
    mailServer = await startMailServer({ port, login: { ...MAIL_LOGIN, password: 'another one' } });
    const { appId, test } = await setUpApp(client, { name: 'Mailer', chipMint: null });
    await allowSignIn(client, appId);
    const email = 'impatient@quokka-fanciers.example';
    requireStatus(await client.post('/auth/email/initiate', { email }, { key: test.publishableKey }), 200);
    await mailServer.untilRefused();
    await mailServer.stop();
    mailServer = await startMailServer({ port, login: MAIL_LOGIN });
    await mailServer.next(email);
  }

  /** Keys created by the command line, and all its output where it shows none. */
  async function commands(): Promise<{ readonly made: readonly Secret[]; readonly output: string }> {
    const coffer = async (line: string) => {
      const place = line.replaceAll('APP', `--app ${run.app.appId}`).replaceAll('ENV', '--env test');
      return processes.command(place.split(' '), {
        COFFER_URL: service.url,
        COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN,
      });
    };
    const made: Secret[] = [];
    for (const line of ['--json keys create APP ENV', '--json keys rotate APP --env live']) {
      const { stdout, stderr } = await coffer(line);
      expect(stderr).to.equal('');
      made.push({ name: 'a secret key of the command line', value: JSON.parse(stdout).key });
    }
    const botToken = '7000000002:AAspec-token-of-another-bot';
    made.push({ name: 'the bot token of the command line', value: botToken });
    const lines = [
      `settings set APP botToken=${botToken}`,
      `settings set APP test.unknown=${botToken}`,
      `settings set APP exportFloor=${botToken}`,
      'settings show APP',
      'keys list APP',
      'keys revoke APP --env live',
      'apps list',
      'users create APP ENV',
      'streams list',
      'streams export',
      'signing-keys list',
      'master-keys status',
      'master-keys rotate',
      'audit head',
      'reconcile APP ENV',
      'nonsense',
    ];
    const ends = await Promise.all(lines.map(coffer));
    return { made, output: ends.map(({ stdout, stderr }) => stdout + stderr).join('\n') };
  }

  /** Everything operators can view. */
  async function operators(client: Client): Promise<void> {
    const app = `/portal/app/${run.app.appId}`;
    for (const path of [
      '/portal/apps',
      `${app}/settings`,
      `${app}/keys`,
      `${app}/test/users/${run.robbedUserId}`,
      '/portal/streams',
      '/portal/log',
      '/portal/signing-keys',
      '/portal/master-keys',
      '/.well-known/jwks.json',
    ]) {
      requireStatus(await client.get(path), 200);
    }
    const rotation = { environment: 'test', compromised: true };
    requireStatus(await client.post('/portal/signing-keys/rotate', rotation), 200);
  }

  const ownSecrets = (): readonly Secret[] => [
    { name: "the operator's token", value: OPERATOR_TOKEN },
    { name: 'the key of sealed settings', value: SECRETS_KEY },
    { name: 'the key of refresh tokens', value: refreshKeyFrom(SECRETS_KEY) },
    { name: 'the key of identities', value: IDENTITY_KEY },
    { name: 'the password of the mail server', value: MAIL_LOGIN.password },
    { name: 'the password of the database', value: decodeURIComponent(new URL(databaseUrl).password) },
    ...MASTER_KEYS.map(({ key }) => ({ name: 'a master key', value: key.export() })),
  ];

  /** The seeds of all our wallets, each of which has signed; and the keys that have signed access tokens. */
  async function walletSecrets(): Promise<readonly Secret[]> {
    const masterKeys = createMasterKeys(MASTER_KEYS);
    const signer = createSigner({ pool, masterKeys });
    const { rows } = await pool.query<{ walletId: string; ownerId: string; environment: 'test' | 'live' }>(
      'select wallet_id as "walletId", owner_id as "ownerId", environment from records.wallets_sealed_keys where retired_at is null',
    );
    expect(rows.length).to.be.greaterThan(5);
    const found: Secret[] = [];
    for (const place of rows) {
      const opening = { actor: 'spec', purpose: 'sign', requestId: 'spec' };
      await signer.sign(place, Buffer.from('a transaction'), opening);
      found.push({ name: 'the seed of a wallet', value: await seedOf(pool, place, masterKeys) });
    }
    const secretBox = createSecretBox(SECRETS_KEY);
    const nowMs = () => performance.now();
    const keys = await createSigningKeys(pool, { secretBox, clock: systemClock, nowMs }).current();
    for (const environment of ['test', 'live'] as const) {
      const { d = '' } = keys.signing(environment).privateKey.export({ format: 'jwk' });
      found.push({ name: 'a key that signs access tokens', value: Buffer.from(d, 'base64url') });
    }
    return found;
  }

  for (const name of PLACES) {
    it(`is not in ${name}`, () => {
      const place = { name, text: texts.get(name) ?? '' };
      expect(findSecrets([place], secrets)).to.deep.equal([]);
      expect(findCodes([place], run.codes)).to.deep.equal([]);
    });
  }

  it('but the nonce of an open challenge stands in the one table for it, and nowhere else', () => {
    const nonce = { name: 'the open nonce', value: run.openNonce };
    expect(findSecrets(tables, [nonce])).to.deep.equal([
      'the open nonce (as it is) in records.auth_siws_challenges',
    ]);
    const others = placesNow().filter(({ name }) => name !== 'the tables');
    expect(findSecrets(others, [nonce])).to.deep.equal([]);
  });

  it('but a key that was sealed for its user stands in the one table for it, and nowhere else', () => {
    const sealed = { name: 'the sealed key', value: new Uint8Array(Buffer.from(run.sealedKey, 'base64')) };
    expect(findSecrets(tables, [sealed])).to.deep.equal([
      'the sealed key (hex) in records.wallets_sealed_exports',
    ]);
    const others = placesNow().filter(({ name }) => name !== 'the tables');
    expect(findSecrets(others, [sealed])).to.deep.equal([]);
  });

  it('was looked for where it could have been', () => {
    const { app, robbedUserId } = run;
    const known: Readonly<Record<(typeof PLACES)[number], readonly string[]>> = {
      'the output of the service': [
        robbedUserId,
        'a refresh token was used twice',
        'mail is in trouble',
        'A request failed unexpectedly',
        'spec_refuses',
        'stopping',
      ],
      'the output of commands': [app.appId, app.test.publishableKey, 'unknown_setting', 'invalid_setting'],
      'the events of the log': [
        robbedUserId,
        FIRST_TOUCH.referralCode,
        FIRST_TOUCH.gameKey,
        'BetPlaced',
        'WalletExported',
        ...run.exportedWalletIds,
      ],
      'the tables': [app.test.publishableKey, robbedUserId, 'ciphertext'],
      refusals: [PLANTED_FIELD, 'unknownSetting', 'auth/launch_data_invalid', 'request/malformed_json'],
      'answers to operators and game servers': [app.test.publishableKey, robbedUserId],
      'headers of answers': ['x-request-id', 'www-authenticate'],
      metrics: ['/auth/email/verify', 'status="500"'],
    };
    for (const place of placesNow()) {
      for (const value of known[place.name as (typeof PLACES)[number]]) {
        expect(place.text.includes(value), `${value} in ${place.name}`).to.equal(true);
      }
    }
    const names = tables.map(({ name }) => name);
    expect(names).to.include.members([
      'log.events',
      'records.auth_identities',
      'records.settings',
      'records.wallets_signings',
    ]);
    expect(new Set(secrets.map(({ name }) => name)).size).to.be.greaterThan(20);
    expect(run.codes.length).to.be.greaterThan(5);
  });

  it('would be found, each of them, in every place', () => {
    for (const { name, text } of placesNow()) {
      for (const secret of secrets) {
        const { value } = secret;
        const line = JSON.stringify({
          kept: typeof value === 'string' ? value : Buffer.from(value).toString('base64'),
        });
        expect(findSecrets([{ name, text: `${text}\n${line}` }], [secret]), secret.name).not.to.deep.equal(
          [],
        );
      }
      for (const code of run.codes) {
        expect(findCodes([{ name, text: `${text}\n{"code":"${code}"}` }], [code])).not.to.deep.equal([]);
      }
    }
  });

  it('would be found in a table, as text, as JSON and as bytes', async () => {
    await pool.query('create table records.spec_planted (words text, fields jsonb, bytes bytea)');
    for (const { value } of secrets) {
      const words = typeof value === 'string' ? value : null;
      await pool.query('insert into records.spec_planted values ($1, $2, $3)', [
        words,
        JSON.stringify({ deep: [words] }),
        Buffer.concat([Buffer.from('x'), Buffer.from(value)]),
      ]);
    }
    const planted = (await tablesAsPlaces(pool)).filter(({ name }) => name === 'records.spec_planted');
    await pool.query('drop table records.spec_planted');
    for (const secret of secrets) expect(findSecrets(planted, [secret]), secret.name).not.to.deep.equal([]);
  });

  it('is not in what a service says that cannot start', async () => {
    const password = 'password-in-a-wrong-variable';
    const wrong: readonly Readonly<Record<string, string>>[] = [
      { SMTP_URL: `http://mailer:${password}@mail.example` },
      { SMTP_URL: `smtp://mailer:${password}@bad host` },
      { DATABASE_URL: `postgres://coffer:${password}@127.0.0.1:1/coffer` },
      { DATABASE_URL: `mysql://coffer:${password}@127.0.0.1:1/coffer` },
      { COFFER_MASTER_KEYS: `test:1:${password}` },
      {
        COFFER_MASTER_KEYS: `test:1:${Buffer.from(password.padEnd(32, '.').slice(0, 32)).toString('base64')}`,
      },
      { COFFER_SECRETS_KEY: password },
      { COFFER_IDENTITY_KEY: password },
      { COFFER_IDENTITY_KEY: Buffer.from(password.padEnd(32, '.').slice(0, 32)).toString('base64') },
      { COFFER_OPERATOR_TOKEN: password.slice(0, 20) },
      { EVENTSTORE_URL: `http://admin:${password}@127.0.0.1:1` },
    ];
    const ends = await Promise.all(
      wrong.map(async (one) => ({
        one,
        end: await processes.command(['run'], { PORT: '0', ...variables(), ...one }),
      })),
    );
    const secret = { name: 'it', value: password.slice(0, 20) };
    for (const { one, end } of ends) {
      const [name = ''] = Object.keys(one);
      expect(end.exitCode, name).to.be.oneOf([1, 2]);
      const text = end.stdout + end.stderr;
      expect(text, 'the reason, in words for whoever started it')
        .to.match(/The \w+/)
        .and.not.match(/^\s+at /m);
      expect(findSecrets([{ name, text }], [secret])).to.deep.equal([]);
    }
  });
});

/** From a different address each time, as reported by a proxy on this machine. */
function recorded(client: Client, onAnswer: (route: string, answer: Answer) => void): Client {
  let calls = 0;
  const send: Client['send'] = async (method, path, body, options = {}) => {
    calls += 1;
    const address = { 'x-forwarded-for': `10.0.${calls >> 8}.${calls & 255}` };
    const answer = await client.send(method, path, body, {
      ...options,
      headers: { ...address, ...options.headers },
    });
    onAnswer(`${method} ${path}`, answer);
    return answer;
  };
  return {
    ...client,
    send,
    get: (path, options) => send('GET', path, undefined, options),
    post: (path, body, options) => send('POST', path, body, options),
  };
}
