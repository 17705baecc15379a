/**
 * Players, game servers and operators who bring secrets to a service, make it issue some, and make many mistakes;
 * for the spec that looks for the secrets afterwards.
 */
import { randomInt } from 'node:crypto';
import { allowSignIn, BOT_TOKEN, launchDataOf, newWallet } from '@coffer/auth/testing';
import type { Pool } from '@coffer/database';
import type { ChainWorld } from '@coffer/embedded-chain/testing';
import {
  type Answer,
  type Client,
  requireStatus,
  setUpApp,
  type TestApp,
  textOf,
} from '@coffer/host/testing';
import { type Chain, createRpcChain } from '@coffer/solana';
import { codeIn, eventually, type MailServer } from '@coffer/testing';
import { newRecipient, secretKeyBytes, unsignedTransfer } from '@coffer/wallets/testing';
import type { Place, Secret } from './secretSearch.ts';

const PERSON = {
  id: 7_312_554_981_204_733,
  username: 'quaint_quokka_of_perth',
  first_name: 'Philippa "Pip" Zoë',
  last_name: 'Quackenbush\\Ölund',
  photo_url: 'https://photos.example/quokka/portrait.jpg?size=big&v=2',
};
const MAIL_DOMAIN = 'quokka-fanciers.example';

/** A made-up field, as a refusal repeats it: it shows the spec that it does read refusals. */
export const PLANTED_FIELD = 'field_that_a_refusal_tells_back';
export const FIRST_TOUCH = { referralCode: 'QUOKKASUMMER', gameKey: 'quokka-dice' };

export interface SecretRun {
  readonly app: TestApp;
  /** All secrets that were issued or brought along. */
  readonly secrets: readonly Secret[];
  /** Of six digits. */
  readonly codes: readonly string[];
  /** The users whose session ended because a refresh token was reused. */
  readonly robbedUserId: string;
  readonly openNonce: string;
  /** As returned to its user: base64. */
  readonly sealedKey: string;
  /** The users who exported their keys. */
  readonly exportedWalletIds: readonly string[];
}

export interface RunOptions {
  readonly client: Client;
  readonly pool: Pool;
  readonly mailServer: MailServer;
  /** Of the test environment. */
  readonly node: ChainWorld;
}

interface Session {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly userId: string;
}

export async function runWithSecrets({ client, pool, mailServer, node }: RunOptions): Promise<SecretRun> {
  const secrets: Secret[] = [];
  const codes: string[] = [];
  const note = (name: string, value: string | Uint8Array) => {
    if (!secrets.some((one) => one.value === value)) secrets.push({ name, value });
  };

  const app = await setUpApp(client, { chipMint: null });
  await allowSignIn(client, app.appId);
  for (const place of [app.test, app.live]) note('a secret key', place.secretKey);
  note('the bot token', BOT_TOKEN);
  note('the secret half of the bot token', BOT_TOKEN.slice(BOT_TOKEN.indexOf(':') + 1));
  note('the id of a messenger', String(PERSON.id));
  note('a username', PERSON.username);
  note('a first name', PERSON.first_name);
  note('a last name', PERSON.last_name);
  note('the address of a picture', PERSON.photo_url);
  note('the domain of the mail addresses', MAIL_DOMAIN);

  const key = app.test.publishableKey;
  const ask = (path: string, body: unknown) => client.post(path, body, { key });
  const sessionIn = (answer: Answer): Session => {
    const accessToken = textOf(requireStatus(answer, 200), 'accessToken');
    const refreshToken = textOf(answer, 'refreshToken');
    note('an access token', accessToken);
    note('the signature of an access token', accessToken.slice(accessToken.lastIndexOf('.') + 1));
    note('a refresh token', refreshToken);
    return { accessToken, refreshToken, userId: String(Object(answer.json.user).id) };
  };

  const signedChallenge = async (wallet = newWallet()) => {
    const { publicKey, signMessage } = wallet;
    const challenge = requireStatus(await ask('/auth/siws/challenge', { publicKey }), 200).json;
    const signature = await signMessage(Buffer.from(String(challenge.message)));
    note('a nonce', String(challenge.nonce));
    note('a signature of a wallet', signature);
    return { challenge, publicKey, signature: Buffer.from(signature).toString('base64') };
  };
  const byWallet = async (wallet = newWallet()) =>
    sessionIn(await ask('/auth/siws/verify', { ...(await signedChallenge(wallet)), ...FIRST_TOUCH }));
  const launch = () => {
    const initData = launchDataOf(PERSON);
    note('launch data', initData);
    note('the hash of launch data', initData.slice(-64));
    return initData;
  };
  const newAddress = (name: string) => {
    const local = `${name}.quokka-fancier`;
    note('a mail address', `${local}@${MAIL_DOMAIN}`);
    note('the name in a mail address', local);
    return `${local}@${MAIL_DOMAIN}`;
  };
  const codeFor = async (email: string) => {
    requireStatus(await ask('/auth/email/initiate', { email }), 200);
    const code = codeIn(await mailServer.next(email));
    codes.push(code);
    return code;
  };
  const wrongCode = (code: string) => {
    const wrong = String((Number(code) + randomInt(1, 1_000_000)) % 1_000_000).padStart(6, '0');
    codes.push(wrong);
    return wrong;
  };

  await signIns();
  const robbedUserId = await sessions();
  await players();
  const chain = createRpcChain({ urls: [node.url], timeoutMs: 10_000 });
  const exported = await playersWallets(chain);
  await chain.close();
  await failures();
  const openNonce = String((await signedChallenge()).challenge.nonce);
  await badInputs();
  await mailThatStays();
  return {
    app,
    secrets: secrets.filter(({ value }) => value !== openNonce),
    codes,
    robbedUserId,
    openNonce,
    ...exported,
  };

  async function signIns(): Promise<void> {
    await byWallet();
    const signed = await signedChallenge();
    const other = await signedChallenge();
    await refused(ask('/auth/siws/verify', { ...signed, signature: other.signature }));
    await refused(ask('/auth/siws/verify', { ...other, signature: signed.signature }));
    await refused(ask('/auth/siws/verify', signed));

    sessionIn(await ask('/auth/messenger/verify', { initData: launch(), ...FIRST_TOUCH }));
    await refused(ask('/auth/messenger/verify', { initData: launch().replace(/hash=./, 'hash=x') }));
    await refused(ask('/auth/messenger/verify', { initData: launch().replace('auth_date=', 'auth_date=1') }));

    const email = newAddress('wilhelmina');
    mailServer.refuseWith('No mail here for');
    requireStatus(await ask('/auth/email/initiate', { email }), 200);
    await mailServer.untilRefused();
    mailServer.refuseWith(undefined);
    const code = codeIn(await mailServer.next(email));
    codes.push(code);
    await refused(ask('/auth/email/initiate', { email }));
    await refused(ask('/auth/email/verify', { email, code: wrongCode(code) }));
    sessionIn(await ask('/auth/email/verify', { email, code, ...FIRST_TOUCH }));
    await refused(ask('/auth/email/verify', { email, code }));
    const second = newAddress('bartholomew');
    await refused(ask('/auth/email/verify', { email: second, code: wrongCode(await codeFor(second)) }));
  }

  /** Refreshed, reused, logged out; of a suspended and of an erased user. */
  async function sessions(): Promise<string> {
    const refresh = (refreshToken: string) => client.post('/auth/refresh', { refreshToken }, { key: null });
    const verify = (sessionToken: string) => app.test.post('/sessions/verify', { sessionToken });
    const me = (accessToken: string) => client.get('/me', { key: accessToken });
    const operate = async (userId: string, act: string) =>
      requireStatus(await client.post(`/portal/app/${app.appId}/test/users/${userId}/${act}`, {}), 200);

    const robbed = await byWallet();
    const second = sessionIn(await refresh(robbed.refreshToken));
    const third = sessionIn(await refresh(second.refreshToken));
    for (const { accessToken } of [robbed, second, third]) {
      requireStatus(await verify(accessToken), 200);
      requireStatus(await me(accessToken), 200);
    }
    await pool.query(
      `update records.auth_sessions
          set first_used_at = array(select used - interval '1 minute' from unnest(first_used_at) used)
        where user_id = $1`,
      [robbed.userId],
    );
    await refused(refresh(robbed.refreshToken));
    await refused(verify(third.accessToken));
    await refused(me(third.accessToken));

    const leaving = await byWallet();
    const body = { refreshToken: leaving.refreshToken };
    requireStatus(await client.post('/auth/logout', body, { key: null }), 204);
    await refused(verify(leaving.accessToken));
    await refused(refresh(leaving.refreshToken));
    await refused(app.live.post('/sessions/verify', { sessionToken: leaving.accessToken }));

    const wallet = newWallet();
    const suspended = await byWallet(wallet);
    await operate(suspended.userId, 'suspend');
    await refused(refresh(suspended.refreshToken));
    await refused(me(suspended.accessToken));
    await refused(ask('/auth/siws/verify', await signedChallenge(wallet)));
    await operate(suspended.userId, 'reinstate');
    const email = newAddress('ermintrude');
    const erased = sessionIn(await ask('/auth/email/verify', { email, code: await codeFor(email) }));
    await operate(erased.userId, 'erase');
    await refused(refresh(erased.refreshToken));
    return robbed.userId;
  }

  /** Of the ledger, with the secret key. */
  async function players(): Promise<void> {
    const { userId } = await byWallet();
    await app.test.credit(userId, '100');
    const sessionId = textOf(await app.test.openSession({ userId, lockAmount: '60' }), 'sessionId');
    const bet = requireStatus(await app.test.bet({ sessionId, amount: '10' }), 200);
    const betTransactionUuid = textOf(bet, 'transactionUuid');
    requireStatus(await app.test.win({ sessionId, betTransactionUuid, amount: '15' }), 200);
    await refused(app.test.bet({ sessionId, amount: '1000' }));
    requireStatus(await app.test.settle({ sessionId }), 200);
    requireStatus(await app.test.reconcile(), 200);
    await refused(client.post('/ledger/bet', {}, { key: app.test.publishableKey }));
  }

  /** Viewed, paid from, signed with, and exported: sealed and unsealed. */
  async function playersWallets(chain: Chain) {
    const ofPlayer = async () => {
      const { accessToken } = await byWallet();
      const me = requireStatus(await client.get('/wallets/me', { key: accessToken }), 200);
      const path = `/wallets/${textOf(me, 'id')}`;
      return {
        id: textOf(me, 'id'),
        address: textOf(me, 'address'),
        get: (rest: string) => client.get(`${path}/${rest}`, { key: accessToken }),
        post: (rest: string, body: unknown) => client.post(`${path}/${rest}`, body, { key: accessToken }),
      };
    };
    const payer = await ofPlayer();
    await node.fund(payer.address, 1_000_000_000n);
    requireStatus(await payer.get('balance'), 200);
    const withdrawal = { idempotencyKey: 'w', toAddress: newWallet().publicKey, amount: '2000000' };
    const moveId = textOf(await payer.post('withdraw', withdrawal), 'moveId');
    requireStatus(await payer.get(`withdrawals/${moveId}`), 200);
    await refused(payer.post('withdraw', { ...withdrawal, amount: '3000000' }));
    const signed = await unsignedTransfer(chain, payer.address, newWallet().publicKey, 2_000_000n);
    requireStatus(await payer.post('sign', { transaction: signed, idempotencyKey: 's' }), 200);
    const foreign = newWallet().publicKey;
    const ofAnother = await unsignedTransfer(chain, foreign, payer.address, 2_000_000n);
    await refused(payer.post('sign', { transaction: ofAnother }));

    const [sealed, plain] = [await ofPlayer(), await ofPlayer()];
    const { recipientPublicKey, open } = newRecipient();
    const inSealed = await sealed.post('export', { idempotencyKey: 'e', recipientPublicKey });
    const { sealedSecretKey } = Object(requireStatus(inSealed, 200).json.exported);
    const inPlain = await plain.post('export', { idempotencyKey: 'e' });
    const { secretKey } = Object(requireStatus(inPlain, 200).json.exported);
    for (const bytes of [open(sealedSecretKey), secretKeyBytes(secretKey)]) {
      if (!bytes) throw new Error('It was sealed for somebody else.');
      note('the secret key of an exported wallet', bytes);
      note('the seed of an exported wallet', bytes.subarray(0, 32));
    }
    note('an exported key in base58', String(secretKey));
    for (const { post } of [payer, sealed, plain]) {
      for (const recipient of [String(secretKey), String(sealedSecretKey), recipientPublicKey]) {
        await refused(post('export', { idempotencyKey: 'other', recipientPublicKey: recipient }));
        await refused(post('withdraw', { ...withdrawal, toAddress: recipient }));
        await refused(post('sign', { transaction: recipient }));
      }
    }
    return { sealedKey: String(sealedSecretKey), exportedWalletIds: [sealed.id, plain.id] };
  }

  /** The database refuses every write to a sign-in table, and its message, which goes to the log, quotes the row. */
  async function failures(): Promise<void> {
    const email = newAddress('clementine');
    const code = await codeFor(email);
    const { refreshToken } = await byWallet();
    const signed = await signedChallenge();
    const tables = ['siws_challenges', 'email_codes', 'mail_outbox', 'identities', 'data_keys', 'sessions'];
    for (const table of tables) {
      const name = `records.auth_${table}`;
      await pool.query(`alter table ${name} add constraint spec_refuses check (false) not valid`);
    }
    const failed = await Promise.all([
      ask('/auth/siws/challenge', { publicKey: newWallet().publicKey }),
      ask('/auth/siws/verify', signed),
      ask('/auth/messenger/verify', { initData: launch() }),
      ask('/auth/email/initiate', { email: newAddress('florentine') }),
      ask('/auth/email/verify', { email, code }),
      client.post('/auth/refresh', { refreshToken }, { key: null }),
      client.post('/auth/logout', { refreshToken }, { key: null }),
    ]);
    for (const answer of failed) requireStatus(answer, 500);
    for (const table of tables) {
      await pool.query(`alter table records.auth_${table} drop constraint spec_refuses`);
    }
    await eventually('sign-ins work again', async () => (await byWallet()) && true);
  }

  /** In the queue, sealed, until the mail server accepts it. */
  async function mailThatStays(): Promise<void> {
    mailServer.refuseWith('No mail here for');
    requireStatus(await ask('/auth/email/initiate', { email: newAddress('gwendoline') }), 200);
    await mailServer.untilRefused();
  }

  /** Every textual secret, in every place where it does not belong. */
  async function badInputs(): Promise<void> {
    const texts = secrets.flatMap(({ name, value }) => (typeof value === 'string' ? [{ name, value }] : []));
    // One of each kind is enough.
    const kinds = new Map(texts.map(({ name, value }) => [name, value]));
    kinds.set('a code', codes[0] ?? '');
    for (const secret of kinds.values()) {
      for (const { path, fields, ...credential } of routesFor(secret)) {
        const send = (body: unknown, headers = {}) => client.post(path, body, { ...credential, headers });
        await send(fields);
        await send(`{"x":"${secret}`);
        await send(JSON.stringify(secret));
        await send({ ...fields, [PLANTED_FIELD]: secret });
        await send(secret, { 'content-type': 'text/plain' });
      }
      const inUrl = encodeURIComponent(secret);
      await app.test.get(`/users/${inUrl}/accounts`);
      await app.test.get(`/ledger/sessions/${inUrl}`);
      await app.test.get(`/ledger/sessions?cursor=${inUrl}`);
      await app.test.get(`/ledger/sessions?limit=${inUrl}`);
      await app.test.get(`/nowhere/${inUrl}`);
      await client.get(`/portal/app/${app.appId}/keys?environment=${inUrl}`);
      const credential = Buffer.from(secret).toString('latin1');
      for (const authorization of [`Basic ${credential}`, `Bearer ${credential}`]) {
        await client.get('/me', { key: null, headers: { authorization } });
        await client.get('/ledger/sessions', { key: null, headers: { authorization } });
        await client.get('/portal/apps', { key: null, headers: { authorization } });
      }
    }
  }

  function routesFor(secret: string) {
    const server = { key: app.test.secretKey };
    const settings = `/portal/app/${app.appId}/settings`;
    const users = `/portal/app/${app.appId}/test/users`;
    return [
      { path: '/auth/siws/challenge', key, fields: { publicKey: secret } },
      {
        path: '/auth/siws/verify',
        key,
        fields: { challenge: { nonce: secret, domain: secret }, publicKey: secret, signature: secret },
      },
      { path: '/auth/messenger/verify', key, fields: { initData: `${secret}x` } },
      { path: '/auth/email/initiate', key, fields: { email: `${secret}@@` } },
      { path: '/auth/email/verify', key, fields: { email: `${secret}@@`, code: `${secret}x` } },
      { path: '/auth/refresh', key: null, fields: { refreshToken: `${secret}x` } },
      { path: '/auth/logout', key: null, fields: { refreshToken: `${secret}x` } },
      { path: '/sessions/verify', ...server, fields: { sessionToken: `${secret}x` } },
      { path: '/ledger/bet', ...server, fields: { sessionId: secret, transactionUuid: 'b', amount: secret } },
      { path: '/ledger/settle', ...server, fields: { sessionId: secret } },
      {
        path: '/ledger/sessions',
        ...server,
        fields: { userId: secret, gameCode: 'dice', currency: secret, lockAmount: '0' },
      },
      { path: settings, fields: { settings: { allowedOrigins: secret } } },
      { path: settings, fields: { settings: { unknownSetting: secret } } },
      { path: settings, fields: { settings: { botToken: `${secret} x` } } },
      { path: users, fields: { userId: secret } },
      { path: `${users}/${encodeURIComponent(secret)}/suspend`, fields: {} },
    ];
  }
}

async function refused(asking: Promise<Answer>): Promise<void> {
  const answer = await asking;
  if (answer.status < 400) throw new Error(`Not refused: ${answer.text}`);
}

/** Every row of all our tables, one place per table: as text and as JSON. */
export async function tablesAsPlaces(pool: Pool): Promise<readonly Place[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  const places: Place[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string; json: string }>(
      `select kept::text as text, to_jsonb(kept)::text as json from ${name} as kept`,
    );
    places.push({ name, text: rows.map(({ text, json }) => `${text}\n${json}`).join('\n') });
  }
  return places;
}
