/** Sign-in by email over HTTP, with a mail server and the SDK. Source: spec, Sign-in. */

import {
  type Answer,
  type Client,
  type ContextNode,
  type ContextWorld,
  requireStatus,
  setUpApp,
  type TestApp,
  verdict,
} from '@coffer/host/testing';
import { createPlayerClient, type PlayerClient } from '@coffer/sdk';
import { codeIn, eventually, type MailServer, startMailServer } from '@coffer/testing';
import { expect } from 'chai';
import { type AuthGiven, authGiven, startAuthWorld } from '../../testing/authContexts.ts';
import { allowSignIn } from '../../testing/signIns.ts';
import { type StatementWatch, watchStatements } from '../../testing/statements.ts';
import { smtpTransport } from './transport.ts';

describe('signing in by email', () => {
  let mailServer: MailServer;
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  before(async () => {
    mailServer = await startMailServer();
    world = await startAuthWorld({ given: { mail: newMail() } });
    app = await setUpApp(world.client);
    await allowSignIn(world.client, app.appId);
  });
  after(async () => {
    await world.stop();
    await mailServer.stop();
  });

  /** For one process. */
  const newMail = () => smtpTransport({ url: mailServer.url, from: 'Coffer <no-reply@coffer.example>' });
  const newPage = (baseUrl = world.client.baseUrl): PlayerClient =>
    createPlayerClient({ baseUrl, publishableKey: app.test.publishableKey });
  const initiate = (email: string, client: Client = world.client): Promise<Answer> =>
    client.post('/auth/email/initiate', { email }, { key: app.test.publishableKey });
  const verify = (email: string, code: string, client: Client = world.client): Promise<Answer> =>
    client.post('/auth/email/verify', { email, code }, { key: app.test.publishableKey });
  const codeFor = async (email: string): Promise<string> => {
    requireStatus(await initiate(email), 200);
    return codeIn(await mailServer.next(email));
  };
  const signIn = async (email: string) => {
    const page = newPage();
    await page.email.initiate(email);
    const session = await page.email.verify({ email, code: codeIn(await mailServer.next(email)) });
    return { page, session };
  };

  it('leads from the code in the mail to a session of a user with this address', async () => {
    const { page, session } = await signIn('ada@player.example');
    expect(session.user.primaryIdentity).to.deep.include({
      type: 'email',
      externalId: 'ada@player.example',
      profile: { email: 'ada@player.example' },
    });
    expect((await page.me()).user).to.deep.equal(session.user);
    const sessionToken = session.accessToken;
    const verified = requireStatus(await app.test.post('/sessions/verify', { sessionToken }), 200);
    expect(verified.json).to.include({ userId: session.user.id, authMethod: 'email' });
  });

  describe('with guesses at two nodes', () => {
    let other: ContextNode;
    before(async () => {
      other = await world.startNode({ given: authGiven({ mail: newMail() }), roles: ['api'] });
    });
    after(() => other.stop());

    const guess = (email: string, code: string, count: number) => {
      const wrong = (step: number) => String((Number(code) + step) % 1_000_000).padStart(6, '0');
      const nodes = [world.client, other.client];
      return Promise.all(
        Array.from({ length: count }, (_, index) => verify(email, wrong(index + 1), nodes[index % 2])),
      );
    };

    it('answers four at once alike, and takes the right code at the fifth try', async () => {
      const code = await codeFor('bob@player.example');
      for (const answer of await guess('bob@player.example', code, 4)) {
        expect(verdict(answer)).to.equal('401 auth/code_invalid');
      }
      requireStatus(await verify('bob@player.example', code, other.client), 200);
    });

    it('takes no code after twenty at once, not the right one either', async () => {
      const code = await codeFor('eve@player.example');
      const answers = await guess('eve@player.example', code, 20);
      const last = await verify('eve@player.example', code);
      for (const answer of [...answers, last]) expect(verdict(answer)).to.equal('401 auth/code_invalid');
      expect(new Set([...answers, last].map(({ text }) => text))).to.have.length(1);
    });
  });

  describe('without a word about who has an account', () => {
    let watch: StatementWatch;
    let watched: ContextNode;
    before(async () => {
      watch = await watchStatements(world.databaseUrl);
      watched = await world.startNode({
        given: authGiven({ mail: newMail() }),
        databaseUrl: watch.url,
        roles: ['api'],
      });
    });
    after(async () => {
      await watched.stop();
      await watch.stop();
    });

    it('answers the same after the same work for a player, a suspended one and nobody', async () => {
      await signIn('player@player.example');
      const suspended = (await signIn('lately@player.example')).session.user.id;
      const path = `/portal/app/${app.appId}/test/users/${suspended}/suspend`;
      requireStatus(await world.client.post(path, {}), 200);
      // It knows the same users, and has not written to any of these addresses within the last minute.
      const sibling = await setUpApp(world.client, { name: 'Sibling', scope: app.scopeId });
      await allowSignIn(world.client, sibling.appId);

      const asked = [];
      for (const email of ['player@player.example', 'lately@player.example', 'nobody@player.example']) {
        const key = sibling.test.publishableKey;
        watch.take();
        const answer = await watched.client.post('/auth/email/initiate', { email }, { key });
        asked.push({ answer: bytesOf(answer), work: watch.take().filter(isOfTheRequest) });
        await mailServer.next(email);
      }
      expect(asked[0]?.answer).to.match(/^200 .*"sent":true/);
      expect(asked[0]?.work.join('\n')).to.include('auth_email_codes').and.include('auth_mail_outbox');
      for (const one of asked) expect(one).to.deep.equal(asked[0]);
    });

    /** Status, headers and body, without the values that vary over time. */
    const bytesOf = ({ status, headers, text }: Answer): string => {
      const shown = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
      return `${status} ${JSON.stringify(shown)} ${text.replace(/\d{4}-[\dT:.-]+Z/, 'TIME')}`;
    };
  });

  it('answers while the mail server is down, and the mail comes when it is back', async () => {
    await mailServer.stop();
    const email = 'patient@player.example';
    requireStatus(await initiate(email), 200);
    await eventually(
      'the log says that mail is in trouble',
      () => world.logLines.some((line) => line.includes('mail is in trouble')) || undefined,
    );
    mailServer = await startMailServer({ port: Number(new URL(mailServer.url).port) });
    const code = codeIn(await mailServer.next(email));
    requireStatus(await verify(email, code), 200);
  });
});

/**
 * Independently of requests, the service looks for queued mail every second and sends it, and refreshes settings
 * and keys as they age.
 */
function isOfTheRequest(statement: string): boolean {
  const besides = [
    /^update records\.auth_mail_outbox set attempts/,
    /^delete from records\.auth_mail_outbox where mail_id/,
    /records\.(settings|api_keys|apps|currencies)\b/,
  ];
  return !besides.some((pattern) => pattern.test(statement));
}
