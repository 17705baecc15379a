import { codeIn, createTestDatabase, type MailServer, startMailServer } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate, PLACE } from '../../testing/authRecords.ts';
import { type MethodsWorld, startMethodsWorld } from '../../testing/methodsWorld.ts';
import { smtpTransport } from './transport.ts';

const otherThan = (code: string, step = 1) => String((Number(code) + step) % 1_000_000).padStart(6, '0');

describe('sign-in by email', () => {
  let server: MailServer;
  let world: MethodsWorld;
  beforeEach(async () => {
    server = await startMailServer();
    world = await startMethodsWorld(await createTestDatabase(authTemplate), {
      mail: smtpTransport({ url: server.url, from: 'Coffer <no-reply@coffer.example>' }),
    });
  });
  afterEach(async () => {
    await world.stop();
    await server.stop();
  });

  const initiate = (email: string, key = 'pk_test_1') =>
    world.post('/auth/email/initiate', { email }, { key });
  const verify = (email: string, code: string, more: Record<string, unknown> = {}, key = 'pk_test_1') =>
    world.post('/auth/email/verify', { email, code, ...more }, { key });
  const codeFor = async (email: string, key = 'pk_test_1') => {
    expect((await initiate(email, key)).status).to.equal(200);
    return codeIn(await server.next(email));
  };

  it('mails a code that signs the address in', async () => {
    const { status, body } = await initiate('ada@player.example');
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ sent: true, expiresAt: '2026-03-01T12:05:00.000Z' });

    const mail = await server.next('ada@player.example');
    expect(mail.from).to.equal('no-reply@coffer.example');
    expect(mail.to).to.deep.equal(['ada@player.example']);
    expect(mail.raw).to.match(/^Subject: Your sign-in code for Arcade\r$/m);

    const answer = await verify('ada@player.example', codeIn(mail), {
      referralCode: 'friend',
      gameKey: 'dice',
    });
    expect(answer.status).to.equal(200);
    expect(world.signedIn).to.have.length(1);
    expect(world.signedIn[0]).to.deep.include({
      place: PLACE,
      identity: {
        type: 'email',
        externalId: 'ada@player.example',
        profile: { email: 'ada@player.example' },
      },
      method: 'email',
      firstTouch: { referralCode: 'friend', gameKey: 'dice' },
    });
  });

  it('knows an address however it is written', async () => {
    const { status } = await initiate('  Ada@Player.EXAMPLE ');
    expect(status).to.equal(200);
    const code = codeIn(await server.next('ada@player.example'));
    expect((await verify('ADA@player.example', code)).status).to.equal(200);
    expect(world.signedIn[0]?.identity.externalId).to.equal('ada@player.example');
  });

  it('refuses what is not an address, in ASCII', async () => {
    for (const email of [
      '',
      'ada',
      'ada@',
      'a b@player.example',
      'ada@player.example\r\nBcc: eve@evil.example',
      'ada@player.example, eve@evil.example',
      '\u212aate@player.example',
      'аda@player.example',
      `${'a'.repeat(250)}@player.example`,
    ]) {
      expect((await initiate(email)).code, email).to.equal('request/invalid');
    }
    for (const code of ['12345', '1234567', 'abcdef', '12345 ', '１２３４５６']) {
      expect((await verify('ada@player.example', code)).code, code).to.equal('request/invalid');
    }
  });

  it('lets a code work once, also of 20 who come at once', async () => {
    const code = await codeFor('ada@player.example');
    const answers = await Promise.all(Array.from({ length: 20 }, () => verify('ada@player.example', code)));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    expect(answers.filter(({ code: why }) => why === 'auth/code_invalid')).to.have.length(19);
    expect(world.signedIn).to.have.length(1);
  });

  it('answers alike for a wrong, used, expired and unknown code', async () => {
    const code = await codeFor('ada@player.example');
    const wrong = await verify('ada@player.example', otherThan(code));
    await verify('ada@player.example', code);
    const used = await verify('ada@player.example', code);
    const later = await codeFor('bob@player.example');
    world.pass(300);
    const expired = await verify('bob@player.example', later);
    const unknown = await verify('eve@player.example', '123456');
    for (const answer of [used, expired, unknown]) expect(answer).to.deep.equal(wrong);
    expect([wrong.status, wrong.code]).to.deep.equal([401, 'auth/code_invalid']);
  });

  it('takes a code until its last second', async () => {
    const code = await codeFor('ada@player.example');
    world.pass(299);
    expect((await verify('ada@player.example', code)).status).to.equal(200);
  });

  it('accepts the right code at the fifth try, and none after that', async () => {
    const first = await codeFor('ada@player.example');
    for (const step of [1, 2, 3, 4]) await verify('ada@player.example', otherThan(first, step));
    expect((await verify('ada@player.example', first)).status).to.equal(200);

    const second = await codeFor('bob@player.example');
    for (const step of [1, 2, 3, 4, 5]) await verify('bob@player.example', otherThan(second, step));
    expect((await verify('bob@player.example', second)).code).to.equal('auth/code_invalid');
  });

  it('looks at 5 of 20 guesses that come at once', async () => {
    await world.pool.query(
      `create table tries (at timestamptz default now());
       create function count_try() returns trigger language plpgsql as
         $$ begin insert into tries default values; return null; end $$;
       create trigger count_tries after update on records.auth_email_codes
         for each row execute function count_try()`,
    );
    const code = await codeFor('ada@player.example');
    const guesses = Array.from({ length: 20 }, (_, step) =>
      verify('ada@player.example', otherThan(code, step + 1)),
    );
    const answers = await Promise.all(guesses);
    expect(answers.every(({ code: why }) => why === 'auth/code_invalid')).to.equal(true);
    expect((await world.pool.query('select 1 from tries')).rowCount).to.equal(5);
    expect((await verify('ada@player.example', code)).code).to.equal('auth/code_invalid');
  });

  it('replaces a code by the next one, with five tries again', async () => {
    const first = await codeFor('ada@player.example');
    for (const step of [1, 2, 3, 4, 5]) await verify('ada@player.example', otherThan(first, step));
    world.pass(60);
    const second = await codeFor('ada@player.example');
    if (first !== second)
      expect((await verify('ada@player.example', first)).code).to.equal('auth/code_invalid');
    expect((await verify('ada@player.example', second)).status).to.equal(200);
  });

  it('sends once a minute to an address, and 5 times an hour', async () => {
    const code = await codeFor('ada@player.example');
    const again = await initiate('ada@player.example');
    expect([again.status, again.code, again.retryAfter]).to.deep.equal([429, 'request/rate_limited', '60']);
    expect((await initiate('bob@player.example')).status).to.equal(200);
    expect((await verify('ada@player.example', code)).status, 'the code stays').to.equal(200);

    for (const _send of [2, 3, 4, 5]) {
      world.pass(60);
      expect((await initiate('ada@player.example')).status).to.equal(200);
    }
    world.pass(60);
    const sixth = await initiate('ada@player.example');
    expect([sixth.code, sixth.retryAfter]).to.deep.equal(['request/rate_limited', String(3600 - 300)]);
    world.pass(3_299);
    expect((await initiate('ada@player.example')).retryAfter).to.equal('1');
    world.pass(1);
    expect((await initiate('ada@player.example')).status).to.equal(200);
  });

  it('sends once to an address for which 20 ask at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => initiate('ada@player.example')));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    expect(answers.filter(({ code }) => code === 'request/rate_limited')).to.have.length(19);
    const code = codeIn(await server.next('ada@player.example'));
    expect((await verify('ada@player.example', code)).status).to.equal(200);
  });

  it('keeps apps and environments apart', async () => {
    const code = await codeFor('ada@player.example');
    for (const key of ['pk_live_1', 'pk_test_2']) {
      expect((await verify('ada@player.example', code, {}, key)).code).to.equal('auth/code_invalid');
    }
    expect(await codeFor('ada@player.example', 'pk_live_1')).to.match(/^\d{6}$/);
    expect((await verify('ada@player.example', code)).status).to.equal(200);
  });

  it('keeps and logs neither address nor code', async () => {
    // Long enough that no hash or sealed text contains it by chance.
    const address = 'particular-player@player.example';
    server.refuseWith('451 Not now');
    await initiate(address);
    await server.untilRefused();
    const kept = await everythingStored();
    expect(kept).to.include('ciphertext');
    server.refuseWith(undefined);
    const code = codeIn(await server.next(address));
    await verify(address, code);
    for (const text of [kept, await everythingStored(), world.logLines.join('')]) {
      expect(text).not.to.include('particular-player');
      expect(text).not.to.match(new RegExp(`\\b${code}\\b`));
    }
    for (const trouble of world.troubles) expect(String(trouble)).not.to.include('particular-player');
  });

  const everythingStored = async () => {
    const tables = ['auth_email_codes', 'auth_mail_outbox'];
    const contents = tables.map((table) => world.pool.query(`select * from records.${table}`));
    return JSON.stringify((await Promise.all(contents)).map(({ rows }) => rows));
  };

  it('answers although mail cannot be sent, and tries again until it can', async () => {
    server.refuseWith('451 Not now');
    const { status } = await initiate('ada@player.example');
    expect(status).to.equal(200);
    await server.untilRefused();
    await server.untilRefused();
    server.refuseWith(undefined);
    const code = codeIn(await server.next('ada@player.example'));
    expect((await verify('ada@player.example', code)).status).to.equal(200);
    expect(String(world.troubles[0])).to.equal(
      'MailFailure: The mail server did not take a mail (EENVELOPE 451).',
    );
  });

  it('sends no code that a newer one has replaced', async () => {
    server.refuseWith('451 Not now');
    await initiate('ada@player.example');
    await server.untilRefused();
    world.pass(60);
    await initiate('ada@player.example');
    await server.untilRefused();
    server.refuseWith(undefined);
    const code = codeIn(await server.next('ada@player.example'));
    expect((await verify('ada@player.example', code)).status).to.equal(200);
    expect(server.mails).to.deep.equal([]);
  });

  it('is refused where the app does not allow it, before the body is looked at', async () => {
    world.set({ allowedAuthMethods: ['siws', 'messenger'] });
    for (const path of ['/auth/email/initiate', '/auth/email/verify']) {
      const { status, code } = await world.post(path, {});
      expect([status, code]).to.deep.equal([403, 'auth/method_not_allowed']);
    }
  });
});

describe('sign-in by email where no mail can be sent', () => {
  it('is refused', async () => {
    const world = await startMethodsWorld(await createTestDatabase(authTemplate));
    const { code } = await world.post('/auth/email/initiate', { email: 'ada@player.example' });
    expect(code).to.equal('auth/method_not_allowed');
    await world.stop();
  });
});
