/** Bad input to the ledger, in the order of the checks. Source: contract, Common rules. */

import { type Answer, type CallOptions, type Fields, requireStatus, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { setStanding } from './testing/standings.ts';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

const INVALID = '400 request/invalid';
const MALFORMED = '400 request/malformed_json';
const TOO_LARGE = '413 request/too_large';
const UNSUPPORTED = '415 request/unsupported_media_type';
const ABSENT_SESSION = 'ses_01h455vb4pex5vsknk084sn02q';
const KIB = 1024;

describe('Bad input to the ledger', () => {
  const ledger = useLedger();
  let session: PlayedSession;

  before(async () => {
    const { test } = ledger;
    session = await test.newSession('100');
    const bet = { sessionId: session.sessionId, transactionUuid: 'bet-1', amount: '10' };
    requireStatus(await test.bet(bet), 200);
  });

  const send = (path: string, body: unknown, options?: CallOptions): Promise<Answer> =>
    ledger.test.post(path, body, options);
  const refused = (refusal: string, call: () => Promise<Answer>) => ledger.refused(session, call, refusal);
  const bet = (fields: Fields = {}) => ({
    sessionId: session.sessionId,
    transactionUuid: 'bet-new',
    amount: '1',
    ...fields,
  });

  it('at an unknown address or with an unknown method is refused before credentials are checked', async () => {
    const { client } = ledger;
    const nobody = { key: null };
    for (const path of [
      '/ledger',
      '/ledger/bets',
      '/ledger/bet/',
      '/Ledger/bet',
      '/ledger/sessions/x/y',
      '//',
    ]) {
      await refused('404 request/not_found', () => client.post(path, {}, nobody));
    }
    await refused('405 request/method_not_allowed', () => client.get('/ledger/bet', nobody));
    const answer = await client.send('DELETE', '/ledger/sessions', undefined, nobody);
    expect(verdict(answer)).to.equal('405 request/method_not_allowed');
    expect(answer.headers.get('allow')).to.equal('POST, GET, HEAD');
  });

  describe('gets the answer of the first check that fails', () => {
    /** Each request also makes every mistake of the rows below it. */
    const rows: readonly (readonly [string, () => Promise<Answer>])[] = [
      ['401 auth/missing_credentials', () => send('/ledger/bet', '{', { key: null, headers: asText })],
      ['401 auth/invalid_key', () => send('/ledger/bet', '{', { key: 'sk_test_no', headers: asText })],
      [
        '403 auth/wrong_credential_kind',
        () => send('/ledger/bet', '{', { key: ledger.test.publishableKey, headers: asText }),
      ],
      [UNSUPPORTED, () => send('/ledger/bet', '{'.repeat(65 * KIB), { headers: asText })],
      [TOO_LARGE, () => send('/ledger/bet', '{'.repeat(65 * KIB))],
      [MALFORMED, () => send('/ledger/bet', '{')],
      [INVALID, () => send('/ledger/bet', bet({ sessionId: ABSENT_SESSION, amount: '01' }))],
      [
        '404 ledger/session_not_found',
        () =>
          send('/ledger/bet', bet({ sessionId: ABSENT_SESSION, transactionUuid: 'bet-1', amount: '999' })),
      ],
      [
        '409 ledger/transaction_conflict',
        () => send('/ledger/bet', bet({ transactionUuid: 'bet-1', amount: '999' })),
      ],
      ['409 ledger/insufficient_balance', () => send('/ledger/bet', bet({ amount: '999' }))],
    ];
    const asText = { 'content-type': 'text/plain' };
    for (const [refusal, call] of rows) it(refusal, () => refused(refusal, call));

    it('to an open is checked in the order user, currency, key, standing, funds', async () => {
      const { test } = ledger;
      const userId = await test.newPlayer('10');
      const opened = { userId, lockAmount: '5', transactionUuid: 'open-1' };
      requireStatus(await test.openSession(opened), 201);
      await setStanding(ledger, userId, 'suspend');
      const dear = { userId, lockAmount: '999', transactionUuid: 'open-1' };
      const open = (fields: Fields) => () => test.openSession({ ...dear, ...fields });
      await refused(INVALID, open({ userId: 'usr_1', lockAmount: '-1' }));
      await refused('404 users/not_found', open({ userId: 'usr_1', currency: 'GOLD' }));
      await refused('404 ledger/unknown_currency', open({ currency: 'GOLD' }));
      await refused('409 ledger/transaction_conflict', open({}));
      await refused('403 users/suspended', open({ transactionUuid: 'open-2' }));
      await setStanding(ledger, userId, 'reinstate');
      await refused('409 ledger/insufficient_funds', open({ transactionUuid: 'open-2' }));
    });
  });

  it('in the credential is refused', async () => {
    const key = ledger.test.secretKey;
    const withHeader = (authorization: string) => () =>
      send('/ledger/bet', bet(), { key: null, headers: { authorization } });
    for (const header of ['', 'Bearer', `Basic ${key}`, key, `Bearer ${key} ${key}`]) {
      await refused('401 auth/missing_credentials', withHeader(header));
    }
    for (const token of [`${key}x`, key.slice(0, -1), key.toUpperCase(), 'x'.repeat(5_000)]) {
      await refused('401 auth/invalid_key', withHeader(`Bearer ${token}`));
    }
  });

  it('in a media type other than JSON in UTF-8 is refused', async () => {
    const body = JSON.stringify(bet());
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
    ]) {
      await refused(UNSUPPORTED, () => send('/ledger/bet', body, { headers: { 'content-type': type } }));
    }
    const headers = { 'content-encoding': 'gzip' };
    await refused(UNSUPPORTED, () => send('/ledger/bet', body, { headers }));
  });

  it('of too many bytes is refused: 64 KiB, and 4 MiB for a batch', async () => {
    const padded = (value: object, bytes: number) => {
      const text = JSON.stringify(value);
      return text + ' '.repeat(bytes - text.length);
    };
    const operations = [{ op: 'bet', transactionUuid: 'bet-1', amount: '10' }];
    const batch = { sessionId: session.sessionId, operations };
    const replayed = bet({ transactionUuid: 'bet-1', amount: '10' });
    await refused(TOO_LARGE, () => send('/ledger/bet', padded(replayed, 5 * KIB * KIB)));
    await refused(TOO_LARGE, () => send('/ledger/batch', padded(batch, 5 * KIB * KIB)));
    await refused(TOO_LARGE, () => send('/ledger/bet', padded(replayed, 64 * KIB + 1)));
    expect(verdict(await send('/ledger/bet', padded(replayed, 64 * KIB)))).to.equal('200');
    expect(verdict(await send('/ledger/batch', padded(batch, 4 * KIB * KIB)))).to.equal('200');
  });

  it('that is not a JSON document is refused', async () => {
    const text = JSON.stringify(bet());
    for (const body of [
      text.slice(0, -1),
      `${text}${text}`,
      `\uFEFF${text}`,
      "{'a': 1}",
      'NaN',
      '{"a":1,}',
    ]) {
      await refused(MALFORMED, () => send('/ledger/bet', body));
    }
  });

  it('that is JSON of another form is refused', async () => {
    for (const body of ['null', '[]', '"text"', '1', 'true', '{}', `[${JSON.stringify(bet())}]`, '']) {
      await refused(INVALID, () => send('/ledger/bet', body));
    }
    const deep = '['.repeat(5_000) + ']'.repeat(5_000);
    await refused(INVALID, () => send('/ledger/bet', `{"amount":${deep}}`));
  });

  describe('in an amount', () => {
    const wrong: readonly unknown[] = [
      '1e3',
      '01',
      '00',
      '+1',
      '-1',
      '-0',
      '',
      ' 1',
      '1 ',
      '1.0',
      '0x10',
      '١',
      '1_000',
      1,
      0,
      -1,
      1.5,
      null,
      true,
      [],
      ['1'],
      {},
      '18446744073709551616',
      '99999999999999999999',
      '9'.repeat(10_000),
    ];
    for (const amount of wrong) {
      it(`${JSON.stringify(amount).slice(0, 30)} is refused`, async () => {
        const { sessionId, userId } = session;
        const win = { sessionId, transactionUuid: 'win-new', betTransactionUuid: 'bet-1', amount };
        const open = { userId, gameCode: 'dice', currency: 'CHIP', lockAmount: amount };
        await refused(INVALID, () => send('/ledger/bet', bet({ amount })));
        for (const [path, body] of [
          ['/ledger/win', win],
          ['/ledger/sessions', open],
        ] as const) {
          expect(verdict(await send(path, body)), path).to.equal(INVALID);
        }
        expect(await ledger.news()).to.deep.equal([]);
      });
    }

    it('the largest one is accepted', async () => {
      await refused('409 ledger/insufficient_balance', () =>
        send('/ledger/bet', bet({ amount: '18446744073709551615' })),
      );
    });
  });

  it("in a caller's id is refused; 64 characters of A-Z a-z 0-9 . _ : - are accepted", async () => {
    const wrong = ['', 'x'.repeat(65), 'a b', 'ä', 'a/b', 'a\nb', 'a\0b', '\uD800', 1, null, {}];
    for (const id of wrong) {
      await refused(INVALID, () => send('/ledger/bet', bet({ transactionUuid: id })));
      await refused(INVALID, () => send('/ledger/bet', bet({ roundId: id })));
      await refused(INVALID, () =>
        ledger.test.rollback({ ...session, userId: undefined, betTransactionUuid: id }),
      );
      await refused(INVALID, () =>
        ledger.test.openSession({ userId: session.userId, lockAmount: '0', gameCode: id }),
      );
      await refused(INVALID, () => ledger.test.settle({ sessionId: session.sessionId, transactionUuid: id }));
    }
    const { sessionId } = await ledger.test.newSession('0');
    for (const id of ['x'.repeat(64), '.', 'A-z_0:9.', '__proto__', 'constructor', 'toString']) {
      const answer = await ledger.test.bet({ sessionId, transactionUuid: id, amount: '0', roundId: id });
      expect([answer.status, answer.replayed], id).to.deep.equal([200, false]);
    }
  });

  it('of a transactionUuid equal to the betTransactionUuid is refused', async () => {
    const same = { sessionId: session.sessionId, transactionUuid: 'bet-1', betTransactionUuid: 'bet-1' };
    await refused(INVALID, () => send('/ledger/win', { ...same, amount: '1' }));
    await refused(INVALID, () => send('/ledger/rollback', same));
  });

  it('in unknown fields and parameters is refused, and they are named', async () => {
    const { sessionId } = session;
    const bodies: readonly (readonly [string, Fields])[] = [
      ['/ledger/bet', bet({ amuont: '1' })],
      ['/ledger/bet', bet({ betTransactionUuid: 'bet-1' })],
      ['/ledger/balance', { sessionId, amuont: '1' }],
      ['/ledger/settle', { sessionId, amuont: '1' }],
      ['/ledger/batch', { sessionId, operations: [], amuont: '1' }],
    ];
    for (const [path, body] of bodies) await refused(INVALID, () => send(path, body));
    await refused(INVALID, () => send('/ledger/bet?dryRun=true', bet()));
    await refused(INVALID, () => send('/ledger/bet', JSON.stringify(bet()).replace('{', '{"__proto__":{},')));

    const { json } = await send('/ledger/bet', bet({ amuont: '1', amount: undefined }));
    expect(json.details).to.deep.equal({
      issues: [
        { path: 'amount', message: 'is required' },
        { path: 'amuont', message: 'unrecognized field' },
      ],
    });
  });

  it('with NUL or a lone surrogate anywhere is refused, even where any text would do', async () => {
    for (const text of ['a\0', '\uD800', '\uDC00x']) {
      await refused(INVALID, () => send('/ledger/bet', bet({ sessionId: text })));
      await refused(INVALID, () => ledger.test.openSession({ userId: text, lockAmount: '0' }));
      await refused(INVALID, () =>
        ledger.test.openSession({ userId: session.userId, lockAmount: '0', currency: text }),
      );
    }
    const { test } = ledger;
    expect(verdict(await test.get('/ledger/sessions/%00'))).to.equal('404 request/not_found');
    expect(verdict(await test.get('/ledger/sessions?userId=%00'))).to.equal(INVALID);
    expect(verdict(await test.get('/ledger/sessions?userId=%ff'))).to.equal(INVALID);
  });

  it('of long texts in place of ids is answered as not found, without an internal error', async () => {
    const { test } = ledger;
    const long = 'ses_'.padEnd(60_000, 'x');
    expect(verdict(await test.bet({ sessionId: long, amount: '1' }))).to.equal(
      '404 ledger/session_not_found',
    );
    const open = { userId: long, lockAmount: '1' };
    expect(verdict(await test.openSession(open))).to.equal('404 users/not_found');
    const quoted = { userId: session.userId, lockAmount: '1', currency: `CHIP'; drop table x; --` };
    expect(verdict(await test.openSession(quoted))).to.equal('404 ledger/unknown_currency');
  });

  // Nested, so that it runs after everything above.
  describe('after all of this', () => {
    it('the log has what was accepted and no more, and the program logged no trouble', async () => {
      const { client, world, app } = ledger;
      const events = await client.lines(`/portal/streams/playSession-test.${app.appId}.${session.sessionId}`);
      expect(events.map(({ type }) => type)).to.deep.equal(['SessionOpened', 'BetPlaced']);
      expect(world.logLines.filter((line) => !line.includes('"level":"info"'))).to.deep.equal([]);
    });
  });
});
