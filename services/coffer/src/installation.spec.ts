import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { configFrom } from './config.ts';
import { mailTransport } from './installation.ts';

describe('the mail of an installation', () => {
  it('goes into files of its data folder, where it keeps its own database there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-mail-'));
    const mail = mailTransport(configFrom({ COFFER_DATA_DIR: folder }));
    await mail?.send({
      to: 'ada@player.example',
      subject: 'A code',
      text: '123456',
      id: '<1@coffer>',
      date: new Date(),
    });
    expect(await readdir(join(folder, 'mail'))).to.have.length(1);
    await rm(folder, { recursive: true });
  });

  it('is not sent on a database elsewhere without a mail server', () => {
    expect(mailTransport(configFrom({ DATABASE_URL: 'postgres://db.example/coffer' }))).to.equal(undefined);
  });
});
