import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from '@coffer/database';
import { createSecretBox } from '@coffer/kernel';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate } from '../../testing/authRecords.ts';
import { createMailer } from './mailer.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { fileTransport, type Mail, type MailTransport } from './transport.ts';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const PLACE = { appId: 'app_1', environment: 'test' } as const;
const hashOf = (name: string) => Buffer.from(name).toString('hex').padEnd(64, '0');

describe('the outbox of mail', () => {
  let database: TestDatabase;
  let pool: Pool;
  let outbox: Outbox;
  let nowMs = START_MS;
  beforeEach(async () => {
    database = await createTestDatabase(authTemplate);
    pool = database.pool;
    nowMs = START_MS;
    outbox = createOutbox(pool, createSecretBox(Buffer.alloc(32, 7)), () => new Date(nowMs));
  });
  afterEach(() => database.drop());

  const put = (name: string) =>
    outbox.put(pool, {
      place: PLACE,
      addressHash: hashOf(name),
      mail: { to: `${name}@player.example`, subject: 'S', text: 'T', date: new Date(nowMs) },
      expiresAt: new Date(nowMs + 300_000),
    });
  const queued = async () => (await pool.query('select 1 from records.auth_mail_outbox')).rowCount;

  it('gives a mail to one of many who take', async () => {
    for (const name of ['ada', 'bob', 'eve']) await put(name);
    const taken = await Promise.all(Array.from({ length: 10 }, () => outbox.take(2)));
    const names = taken.flat().map(({ open }) => open().to);
    expect(names.sort()).to.deep.equal(['ada@player.example', 'bob@player.example', 'eve@player.example']);
  });

  it('gives a mail again, under the same id, when whoever took it has died', async () => {
    await put('ada');
    const [first] = await outbox.take(1);
    nowMs += 59_999;
    expect(await outbox.take(1)).to.deep.equal([]);
    nowMs += 1;
    const [second] = await outbox.take(1);
    expect(second?.id).to.equal(first?.id);
    expect(second?.attempts).to.equal(2);

    // The first one wakes up, but no longer holds the lease.
    if (first) await outbox.putBack(first, 0);
    expect(await outbox.take(1)).to.deep.equal([]);
  });

  it('gives up what has expired', async () => {
    await put('ada');
    nowMs += 300_000;
    expect(await outbox.take(1)).to.deep.equal([]);
    expect(await outbox.giveUp()).to.equal(1);
    expect(await queued()).to.equal(0);
  });

  it('is emptied by two mailers without a mail sent twice', async () => {
    for (let number = 0; number < 40; number += 1) await put(`player${number}`);
    const sent: string[] = [];
    const { transport, isSent } = countingTransport(sent, 40);
    const mailers = [1, 2].map(() =>
      createMailer({ outbox, transport, onTrouble: failSpec, pollIntervalMs: 5 }),
    );
    for (const { start } of mailers) start();
    await isSent;
    await Promise.all(mailers.map(({ stop }) => stop()));
    expect(new Set(sent).size).to.equal(40);
    expect(sent).to.have.length(40);
    expect(await queued()).to.equal(0);
  });

  it('continues with the others while one cannot be sent', async () => {
    for (const name of ['ada', 'bob']) await put(name);
    const sent: string[] = [];
    const troubles: unknown[] = [];
    const { transport, isSent } = countingTransport(sent, 1, 'ada@player.example');
    const mailer = createMailer({
      outbox,
      transport,
      onTrouble: (error) => troubles.push(error),
      pollIntervalMs: 5,
    });
    mailer.start();
    await isSent;
    await mailer.stop();
    expect(sent).to.deep.equal(['bob@player.example']);
    expect(troubles).to.have.length(1);
    expect(await queued()).to.equal(1);
  });
});

/** Resolves once this many have been sent; refuses mail to one address. */
function countingTransport(sent: string[], wanted: number, refused?: string) {
  const { promise: isSent, resolve } = Promise.withResolvers<void>();
  const transport: MailTransport = {
    send: async ({ to }: Mail) => {
      if (to === refused) throw new Error('Not to this one.');
      sent.push(to);
      if (sent.length >= wanted) resolve();
    },
    close: () => undefined,
  };
  return { transport, isSent };
}

function failSpec(error: unknown): never {
  throw error;
}

describe('mail in files', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-mail-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is one .eml a mail, for its owner only, and one for a mail that comes twice', async () => {
    const transport = fileTransport({
      folder: join(folder, 'mail'),
      from: 'Coffer <no-reply@coffer.example>',
    });
    const mail: Mail = {
      id: '5d1f7f0e-0000-4000-8000-000000000001',
      to: 'ada@player.example',
      subject: 'Your sign-in code',
      text: 'Code:\n\n    123456\n',
      date: new Date(START_MS),
    };
    await transport.send(mail);
    await transport.send(mail);
    transport.close();
    const names = await readdir(join(folder, 'mail'));
    expect(names).to.deep.equal(['2026-03-01T12-00-00-000Z-5d1f7f0e-0000-4000-8000-000000000001.eml']);
    const path = join(folder, 'mail', names[0] ?? '');
    const text = await readFile(path, 'utf8');
    expect(text).to.match(/^From: Coffer <no-reply@coffer\.example>\r$/m);
    expect(text).to.match(/^To: ada@player\.example\r$/m);
    expect(text).to.match(/^Message-ID: <5d1f7f0e-0000-4000-8000-000000000001@coffer>\r$/m);
    expect(text).to.match(/^ {4}123456\r$/m);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });
});
