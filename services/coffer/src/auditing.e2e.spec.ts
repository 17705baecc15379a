/**
 * A doubted number, end to end: a game is played on the whole service, somebody with the database's password
 * changes something, and the operator's or auditor's command finds it. Source: contract, The command line.
 */
import type { Pool } from '@coffer/database';
import { type AppPlace, createClient, requireStatus, setUpApp, textOf } from '@coffer/host/testing';
import { createTestDatabase, describeLogTable, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { runInProcess } from './testing/commandLine.ts';
import {
  OPERATOR_TOKEN,
  type ProcessEnd,
  type ServiceProcess,
  serviceProcesses,
} from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

type Row = Readonly<Record<string, unknown>>;

describeLogTable('its rows are altered', 'somebody changes by hand', () => {
  let database: TestDatabase;
  let pool: Pool;
  // The processes end before their database is dropped.
  after(async () => {
    await service?.terminate();
    await database.drop();
  });
  const processes = serviceProcesses();
  let service: ServiceProcess | undefined;
  let app: AppPlace;
  let account: string;
  let head: { readonly ordinal: number; readonly hash: string };

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    service = await processes.start({ variables: { DATABASE_URL: database.connectionString } });
    const client = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
    app = (await setUpApp(client)).test;

    const { userId, sessionId } = await app.newSession('1000');
    account = `account-test.${app.appId}.${userId}.2`;
    for (let round = 0; round < 20; round++) {
      const bet = requireStatus(await app.bet({ sessionId, amount: '20' }), 200);
      const betTransactionUuid = textOf(bet, 'transactionUuid');
      if (round % 3 === 0) requireStatus(await app.win({ sessionId, betTransactionUuid, amount: '35' }), 200);
      if (round % 3 === 1) requireStatus(await app.rollback({ sessionId, betTransactionUuid }), 200);
    }
    requireStatus(await app.settle({ sessionId }), 200);
    head = await chainedHead();
    await pool.query('create schema saved; create table saved.events as table log.events');
  });

  /** The end of the chain, once it has reached the end of the log. */
  function chainedHead(): Promise<typeof head> {
    return eventually('the chain has no lag', async () => {
      const { exitCode, stdout } = await coffer('--json audit head');
      if (exitCode !== 0) return undefined;
      const { ordinal, hash, lagEvents } = JSON.parse(stdout);
      return lagEvents === 0 ? { ordinal: Number(ordinal), hash: String(hash) } : undefined;
    });
  }

  const variables = () => ({ COFFER_URL: String(service?.url), COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN });
  const coffer = (line: string): Promise<ProcessEnd> => processes.command(line.split(' '), variables());
  const expectRefusal = async (line: string, code: string) => {
    const { exitCode, stdout, stderr } = await runInProcess(line, { variables: variables() });
    expect([exitCode, stdout, stderr.split(':')[0]]).to.deep.equal([1, '', code]);
  };
  const reconcile = () => coffer(`--json reconcile --app ${app.appId} --env test`);
  const verifies = async () => expect((await coffer('streams verify')).exitCode).to.equal(0);
  const faultsOf = ({ stdout }: ProcessEnd) => JSON.parse(stdout).faults as readonly Row[];
  const sql = (text: string) => pool.query(text.replaceAll('$account', account));

  it('nothing, and every command says so', async () => {
    await verifies();
    expect((await reconcile()).exitCode).to.equal(0);
    expect((await app.reconcile()).status).to.equal(200);
    const { ordinal, hash } = head;
    const proof = await coffer(`audit verify --since ${ordinal} --hash ${hash}`);
    expect(proof.exitCode, proof.stderr).to.equal(0);
  });

  it('the end of the chain, and audit verify refuses a head beyond it', async () => {
    const { ordinal, hash } = head;
    await expectRefusal(`audit verify --since ${ordinal + 1} --hash ${hash}`, 'audit/ordinal_beyond_chain');
  });

  for (const [what, tamper, undo, subject] of [
    [
      'a balance',
      `update read_v1.accounts set available = available + 1 where stream = '$account'`,
      `update read_v1.accounts set available = available - 1 where stream = '$account'`,
      () => account,
    ],
    [
      'a posting',
      `update read_v1.postings set account = 'external' where stream = '$account' and revision = 2 and number = 3`,
      `update read_v1.postings set account = 'house' where stream = '$account' and revision = 2 and number = 3`,
      () => `${account} 2 3`,
    ],
  ] as const) {
    it(`${what}, and reconcile names it`, async () => {
      await sql(tamper);
      const end = await reconcile();
      expect(end.exitCode).to.equal(1);
      expect(end.stderr).to.include('ledger/integrity_failed');
      const [discrepancy, ...others] = JSON.parse(end.stdout).discrepancies;
      expect(discrepancy).to.include({ subject: subject() });
      expect(others).to.deep.equal([]);
      const answer = await app.reconcile();
      expect([answer.status, answer.json.code]).to.deep.equal([409, 'ledger/integrity_failed']);
      await sql(undo);
      expect((await reconcile()).exitCode).to.equal(0);
    });
  }

  for (const [what, tamper, undo, fault] of [
    [
      'the bytes of an event',
      `update log.events set data = replace(data, '1000', '1001') where stream = '$account' and revision = 1`,
      `update log.events e set data = s.data from saved.events s where s.position = e.position`,
      { kind: 'altered', revision: 1 },
    ],
    [
      'that there was an event',
      `delete from log.events where stream = '$account' and revision = 1`,
      `insert into log.events select s.* from saved.events s where s.stream = '$account' and s.revision = 1`,
      { kind: 'missing', revision: 1 },
    ],
  ] as const) {
    it(`${what}, and streams verify names it, and audit verify refuses the head that was noted`, async () => {
      await sql(tamper);
      const end = await coffer('--json streams verify');
      expect(end.exitCode).to.equal(1);
      expect(end.stderr).to.include('audit/log_corrupt');
      expect(faultsOf(end)[0]).to.include({ stream: account, ...fault });
      const proof = await coffer(`audit verify --since ${head.ordinal} --hash ${head.hash}`);
      expect(proof.exitCode).to.equal(1);
      expect(proof.stderr).to.include('audit/chain_broken');
      await sql(undo);
      await verifies();
    });
  }

  // From here the projector is stopped, as it must be.
  it('that there is one more at the end, and streams verify and the projector name it', async () => {
    await sql(`insert into log.events
               select (select max(position) + 1 from log.events), stream, revision + 3, gen_random_uuid(), type,
                      data, metadata, clock_timestamp()
                 from log.events where stream = '$account' and revision = 0`);
    const end = await coffer('--json streams verify');
    expect(end.exitCode).to.equal(1);
    expect(faultsOf(end)[0]).to.include({ stream: account, revision: 3 });
    await eventually('the projector says which event it cannot take', () => {
      const named = service?.logs().includes(`"stream":"${account}","revision":3`);
      return named || undefined;
    });
  });

  it('the whole chain, and audit head and audit verify say that there is none', async () => {
    await sql('truncate records.chain_blocks');
    for (const line of ['audit head', `audit verify --since ${head.ordinal} --hash ${head.hash}`]) {
      await expectRefusal(line, 'audit/nothing_chained');
    }
  });
});
