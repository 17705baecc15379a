import { expect } from 'chai';
import { createMailer } from './mailer.ts';
import type { Outbox, TakenMail } from './outbox.ts';
import type { MailTransport } from './transport.ts';

const mailAtAttempt = (attempts: number): TakenMail => ({
  id: `mail-${attempts}`,
  attempts,
  open: () => ({ id: 'mail', to: 'ada@player.example', subject: 'S', text: 'T', date: new Date(0) }),
});

const refusing: MailTransport = {
  send: async () => {
    throw new Error('Not now.');
  },
  close: () => undefined,
};

describe('the mailer', () => {
  it('waits ever longer with a mail that is not taken', async () => {
    const queue = [1, 2, 3, 4, 5, 6, 7, 100].map(mailAtAttempt);
    const delaysMs = new Map<number, number>();
    const { promise: allPutBack, resolve } = Promise.withResolvers<void>();
    const outbox: Outbox = {
      put: async () => undefined,
      take: async (limit) => queue.splice(0, limit),
      remove: async () => undefined,
      putBack: async ({ attempts }, delayMs) => {
        delaysMs.set(attempts, delayMs);
        if (delaysMs.size === 8) resolve();
      },
      giveUp: async () => 0,
    };
    const mailer = createMailer({ outbox, transport: refusing, onTrouble: () => undefined });
    mailer.start();
    await allPutBack;
    await mailer.stop();
    expect(Object.fromEntries(delaysMs)).to.deep.equal({
      1: 1_000,
      2: 2_000,
      3: 4_000,
      4: 8_000,
      5: 16_000,
      6: 30_000,
      7: 30_000,
      100: 30_000,
    });
  });

  it('asks nothing of the database before it is started, whoever rings', async () => {
    const asked = () => expect.fail('Nothing was started.');
    const outbox: Outbox = { put: asked, take: asked, remove: asked, putBack: asked, giveUp: asked };
    const troubles: unknown[] = [];
    const mailer = createMailer({ outbox, transport: refusing, onTrouble: (error) => troubles.push(error) });
    mailer.nudge();
    await mailer.stop();
    expect(troubles).to.deep.equal([]);
  });

  it('continues after the database was unreachable', async () => {
    const queue = [mailAtAttempt(1)];
    let isAway = true;
    const troubles: unknown[] = [];
    const { promise: isSent, resolve } = Promise.withResolvers<void>();
    const outbox: Outbox = {
      put: async () => undefined,
      take: async (limit) => {
        if (!isAway) return queue.splice(0, limit);
        isAway = false;
        throw new Error('The database is away.');
      },
      remove: async () => resolve(),
      putBack: async () => undefined,
      giveUp: async () => 0,
    };
    const transport: MailTransport = { send: async () => undefined, close: () => undefined };
    const mailer = createMailer({
      outbox,
      transport,
      onTrouble: (error) => troubles.push(error),
      pollIntervalMs: 1,
    });
    mailer.start();
    await isSent;
    await mailer.stop();
    expect(troubles).to.have.length(1);
  });
});
