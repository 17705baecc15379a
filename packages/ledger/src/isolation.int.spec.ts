/** Who sees what: keys, environments, apps, scopes. Source: contract, Common rules; Apps, keys, currencies. */

import {
  type Answer,
  type AppPlace,
  requireStatus,
  setUpApp,
  type TestApp,
  textOf,
  verdict,
} from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

/** Source: contract, Apps, keys, currencies. */
const REVOCATION_LIMIT_MS = 1_000;

const ABSENT = { sessionId: 'ses_01h455vb4pex5vsknk084sn02q', userId: 'usr_01h455vb4pex5vsknk084sn02q' };

describe('Of the ledger', () => {
  const ledger = useLedger();

  /** Everything that a key can ask about a session. */
  const allOf = (place: AppPlace, { sessionId, userId }: PlayedSession) =>
    Promise.all([
      place.bet({ sessionId, transactionUuid: 'bet-2', amount: '1' }),
      place.win({ sessionId, betTransactionUuid: 'bet-1', amount: '1' }),
      place.rollback({ sessionId, betTransactionUuid: 'bet-1' }),
      place.rollback({ sessionId, betTransactionUuid: 'bet-9' }),
      place.settle({ sessionId }),
      place.balance(sessionId),
      place.batch(sessionId, [{ op: 'bet', transactionUuid: 'bet-3', amount: '1' }]),
      place.get(`/ledger/sessions/${sessionId}`),
      place.get(`/ledger/sessions/${sessionId}/transactions`),
      place.openSession({ userId, lockAmount: '0' }),
      place.get(`/users/${userId}/accounts`),
    ]);

  const SESSION_HIDDEN = Array(9).fill('404 ledger/session_not_found');
  const ALL_HIDDEN = [...SESSION_HIDDEN, '404 users/not_found', '404 users/not_found'];

  describe('a session and its user', () => {
    let session: PlayedSession;
    before(async () => {
      const { test } = ledger;
      session = await test.newSession('100');
      requireStatus(
        await test.bet({ sessionId: session.sessionId, transactionUuid: 'bet-1', amount: '10' }),
        200,
      );
      await eventually('the session is listed', async () => {
        const { items } = (await test.get('/ledger/sessions')).json;
        return Array.isArray(items) && items.length > 0 ? items : undefined;
      });
    });

    /** The others ask for everything there is, and nothing has happened. */
    async function expectNothing(place: AppPlace, verdicts: readonly string[]): Promise<readonly Answer[]> {
      const before = await ledger.view(session);
      await ledger.news();
      const answers = await allOf(place, session);
      expect(answers.map(verdict)).to.deep.equal(verdicts);
      expect(await ledger.news()).to.deep.equal([]);
      expect(await ledger.view(session)).to.deep.equal(before);
      const listed = requireStatus(await place.get(`/ledger/sessions?userId=${session.userId}`), 200);
      expect(listed.json).to.deep.equal({ items: [], nextCursor: null });
      return answers;
    }

    it('in test are absent for the live key, in the very words of an absent one', async () => {
      const { live } = ledger;
      const answers = await expectNothing(live, ALL_HIDDEN);
      const absent = await allOf(live, ABSENT);
      expect(answers.map(({ text }) => text)).to.deep.equal(absent.map(({ text }) => text));
    });

    it('are absent for another app', async () => {
      const other = await setUpApp(ledger.client, { name: 'Elsewhere' });
      await expectNothing(other.test, ALL_HIDDEN);
    });

    it('in a shared scope: the user is known to the other app, the session and the funds are not', async () => {
      const { client, app, test } = ledger;
      const sibling = (await setUpApp(client, { name: 'Sibling', scope: app.scopeId })).test;
      const [opened, accounts] = (await allOf(sibling, session)).slice(9);
      expect(verdict(opened as Answer)).to.equal('201');
      expect((accounts as Answer).json.items).to.deep.equal([
        { currency: 'SOL', currencyId: 1, available: '0', held: '0' },
        { currency: 'CHIP', currencyId: 2, available: '0', held: '0' },
      ]);
      const { userId } = session;
      const dear = await sibling.openSession({ userId, lockAmount: '1' });
      expect(verdict(dear)).to.equal('409 ledger/insufficient_funds');
      const siblings = await allOf(sibling, { ...session, userId: 'usr_1' });
      expect(siblings.slice(0, 9).map(verdict)).to.deep.equal(SESSION_HIDDEN);
      expect((await test.balance(session.sessionId)).json.balance).to.equal('90');
    });
  });

  it('one transactionUuid opens a separate session in each app and environment', async () => {
    const { client, test, live } = ledger;
    const other = (await setUpApp(client, { name: 'Elsewhere' })).test;
    const sessionIds: string[] = [];
    for (const place of [test, live, other]) {
      const userId = await place.newPlayer('10');
      const opened = await place.openSession({
        userId,
        lockAmount: '10',
        transactionUuid: 'open-everywhere',
      });
      expect([opened.status, opened.replayed]).to.deep.equal([201, false]);
      sessionIds.push(textOf(opened, 'sessionId'));
    }
    expect(new Set(sessionIds).size).to.equal(3);
  });

  describe('a key', () => {
    let app: TestApp;
    before(async () => {
      app = await setUpApp(ledger.client, { name: 'Keys' });
    });
    it("that is publishable, or the operator's, is of the wrong kind everywhere", async () => {
      const { client } = ledger;
      for (const options of [{ key: app.test.publishableKey }, {}]) {
        const answers = [
          await client.post('/ledger/bet', {}, options),
          await client.post('/ledger/sessions', {}, options),
          await client.post('/ledger/batch', {}, options),
          await client.get('/ledger/sessions', options),
          await client.get(`/ledger/sessions/${ABSENT.sessionId}`, options),
          await client.get(`/users/${ABSENT.userId}/accounts`, options),
        ];
        expect(answers.map(verdict)).to.deep.equal(Array(6).fill('403 auth/wrong_credential_kind'));
      }
    });

    it("that is secret opens none of the operator's endpoints", async () => {
      const { client } = ledger;
      const key = app.test.secretKey;
      const paths = ['/portal/apps', '/portal/log', `/portal/app/${app.appId}/test/sessions`];
      const answers = await Promise.all(paths.map((path) => client.get(path, { key })));
      expect(answers.map(verdict)).to.deep.equal(Array(3).fill('403 auth/wrong_credential_kind'));
    });

    it("that was revoked is refused within a second, while the app's other key keeps working", async () => {
      const { client } = ledger;
      const keys = `/portal/app/${app.appId}/test/keys`;
      const made = requireStatus(await client.post(keys, { kind: 'secret' }), 200);
      const key = textOf(made, 'key');
      expect(verdict(await client.get('/ledger/sessions', { key }))).to.equal('200');
      requireStatus(await client.post(`${keys}/revoke`, { keyId: textOf(made, 'keyId') }), 200);

      const revokedAt = performance.now();
      const refusal = await eventually('the revoked key is refused', async () => {
        const sentAfterMs = performance.now() - revokedAt;
        const answer = await client.get('/ledger/sessions', { key });
        if (answer.status === 401) return answer;
        expect(sentAfterMs, 'still taken').to.be.below(REVOCATION_LIMIT_MS);
        return undefined;
      });
      expect(verdict(refusal)).to.equal('401 auth/invalid_key');
      expect(verdict(await app.test.get('/ledger/sessions'))).to.equal('200');
    });

    it('that replaces another replays what was written with it', async () => {
      const { client, replays } = ledger;
      const { sessionId } = await ledger.test.newSession('10');
      const bet = { sessionId, transactionUuid: 'bet-1', amount: '1' };
      const first = requireStatus(await ledger.test.bet(bet), 200);
      const made = await client.post(`/portal/app/${ledger.app.appId}/test/keys`, { kind: 'secret' });
      await replays(first, () => client.post('/ledger/bet', bet, { key: textOf(made, 'key') }));
    });
  });
});
