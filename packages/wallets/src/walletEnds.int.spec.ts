/**
 * The end of a wallet, over HTTP and on a chain: its user takes the key, or an operator replaces it. Source:
 * docs/api.md, Wallets; docs/adr/0022-export-and-migration.md.
 */

import type { Pool } from '@coffer/database';
import { createCommandHandler } from '@coffer/event-store';
import {
  type Answer,
  type Client,
  type ContextNode,
  requireStatus,
  textOf,
  verdict,
} from '@coffer/host/testing';
import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import { createMoves, treasuryMovePlace } from '@coffer/moves';
import { eventually, patiently } from '@coffer/testing';
import { expect } from 'chai';
import nacl from 'tweetnacl';
import {
  GEM,
  LAMPORTS_PER_SOL,
  newAddress,
  newRecipient,
  type Player,
  type PlayersOnChain,
  secretKeyBytes,
  startPlayersOnChain,
  unsignedTransfer,
} from './testing/index.ts';

const ONE_DAY_SECONDS = 24 * 60 * 60;
const AT_ONCE = 20;

const objectOf = (answer: Answer, field: string): Readonly<Record<string, unknown>> =>
  Object(answer.json[field]);

describe('a wallet', () => {
  let wallets: PlayersOnChain;
  let pool: Pool;
  let player: Player;
  before(async () => {
    wallets = await startPlayersOnChain();
    ({ pool } = wallets.world);
  });
  after(() => wallets.stop());
  beforeEach(async () => {
    player = await wallets.newPlayer();
  });

  const path = (rest: string) => `/wallets/${player.wallet.id}/${rest}`;
  const preflight = async () => requireStatus(await player.get(path('export/preflight')), 200).json;
  const exportIt = (body: Readonly<Record<string, unknown>> = {}) =>
    player.post(path('export'), { idempotencyKey: 'mine-now', ...body });
  const keyRows = async (column = '1') => {
    const from = `select ${column} as found from records.wallets_sealed_keys where wallet_id = $1`;
    return (await pool.query<{ found: unknown }>(from, [player.wallet.id])).rows;
  };
  const openings = async () =>
    (await pool.query('select 1 from records.wallets_key_openings where wallet_id = $1', [player.wallet.id]))
      .rowCount;
  /** A transfer that only the old wallet's key signs; signed by the service as far as it does that. */
  const signOver = async () =>
    player.post(path('sign'), {
      transaction: await unsignedTransfer(wallets.rpc, player.wallet.address, newAddress(), 2_000_000n),
    });

  describe('whose user exports it', () => {
    it('may be exported depending on what the wallet holds, what is in flight, and how recent the sign-in is', async () => {
      expect(await preflight()).to.deep.equal({ allowed: true, reasons: [], floor: [] });
      await wallets.settings({ exportFloor: { SOL: '2000000', GEM: '5' } });
      try {
        const floor = (sol: string, gem: string) => [
          { currency: 'GEM', minimum: '5', balance: gem },
          { currency: 'SOL', minimum: '2000000', balance: sol },
        ];
        await wallets.node.fund(player.wallet.address, LAMPORTS_PER_SOL);
        const below = { reasons: ['below_floor'], floor: floor('1000000000', '0') };
        expect(await preflight()).to.deep.equal({ allowed: false, ...below });
        const refused = await exportIt();
        expect(verdict(refused)).to.equal('409 wallets/export_not_allowed');
        expect(refused.json.details).to.deep.equal(below);
        await wallets.node.giveTokens(player.wallet.address, GEM.mint, 5n);
        expect(await preflight()).to.deep.equal({
          allowed: true,
          reasons: [],
          floor: floor('1000000000', '5'),
        });

        const request = { idempotencyKey: 'w', toAddress: newAddress(), amount: '999000000' };
        requireStatus(await player.post(path('withdraw'), request), 200);
        const moving = await eventually('the withdrawal is seen', async () => {
          const looked = await preflight();
          return looked.allowed ? undefined : looked;
        });
        expect(moving.reasons).to.deep.equal(['moves_in_flight']);
        expect(verdict(await exportIt())).to.equal('409 wallets/export_not_allowed');

        wallets.passTime(901);
        expect((await preflight()).reasons).to.deep.equal(['moves_in_flight', 'reauthentication_required']);
        const late = await exportIt();
        expect(verdict(late)).to.equal('403 auth/reauthentication_required');
        expect(late.json.details).to.deep.equal({ maxAgeSeconds: 900 });
        await player.signIn();

        await wallets.carriedUntil('nothing is under way', async () =>
          (await preflight()).reasons?.toString() === 'below_floor' ? true : undefined,
        );
        expect(await openings(), 'for the withdrawal alone').to.equal(1);
      } finally {
        await wallets.settings({ exportFloor: null });
      }
      requireStatus(await exportIt(), 200);
    });

    it('has its key sealed for the recipient, which signs as the wallet did and is no longer ours', async () => {
      await wallets.node.fund(player.wallet.address, LAMPORTS_PER_SOL);
      const { recipientPublicKey, open } = newRecipient();
      requireStatus(await signOver(), 200);
      const answer = requireStatus(await exportIt({ recipientPublicKey }), 200);
      expect(answer.replayed).to.equal(false);
      const { sealedSecretKey, ...exported } = objectOf(answer, 'exported');
      expect(exported).to.deep.equal({ id: player.wallet.id, address: player.wallet.address });
      expect(Buffer.from(String(sealedSecretKey), 'base64')).to.have.length(136);
      expect(newRecipient().open(sealedSecretKey)).to.equal(null);
      const bytes = open(sealedSecretKey) ?? expect.fail();
      expect(encodeBase58(bytes.slice(32))).to.equal(player.wallet.address);
      const signature = nacl.sign.detached(Buffer.from('mine'), bytes);
      const publicKey = decodeBase58Address(player.wallet.address) ?? expect.fail();
      expect(nacl.sign.detached.verify(Buffer.from('mine'), signature, publicKey)).to.equal(true);

      // The new one is in use everywhere.
      const next = objectOf(answer, 'wallet');
      expect(requireStatus(await player.get('/wallets/me'), 200).json).to.deep.equal(next);
      expect(next).to.include({ userId: player.userId, status: 'active', custody: 'operator' });
      expect([next.id, next.address]).not.to.include.members([player.wallet.id, player.wallet.address]);
      const summaries = [
        { ...player.wallet, status: 'exported' },
        { id: next.id, address: next.address, environment: 'test', custody: 'operator', status: 'active' },
      ];
      const me = requireStatus(await player.get('/me'), 200).json;
      expect(Object(me.user).wallets).to.deep.equal(summaries);
      expect(me.wallet).to.deep.include({ id: next.id });
      const sessionToken = player.accessToken();
      // User data there may be one second old.
      const verified = await eventually('the verification tells of it', async () => {
        const { json } = requireStatus(
          await wallets.app.test.post('/sessions/verify', { sessionToken }),
          200,
        );
        return json.walletAddress === next.address ? json : undefined;
      });
      expect(verified.wallets).to.deep.equal(summaries);

      // The service does not sign what only the old key could sign.
      const opens = await openings();
      expect(verdict(await signOver())).to.equal('409 wallets/not_active');
      const request = { idempotencyKey: 'after', toAddress: newAddress(), amount: '2000000' };
      expect(verdict(await player.post(path('withdraw'), request))).to.equal('409 wallets/not_active');
      const deposit = { userId: player.userId, currency: 1, amount: '2000000', ref: 'after-export' };
      const deposited = await wallets.app.test.post('/treasury/deposit', deposit);
      expect(verdict(deposited)).to.equal('409 treasury/insufficient_wallet_funds');
      expect(verdict(await player.get(path('export/preflight')))).to.equal('409 wallets/not_active');
      expect(await openings()).to.equal(opens);
      expect((await keyRows('retired_at'))[0]?.found).to.be.instanceOf(Date);
      // The balance is still visible, and still the user's.
      const balance = requireStatus(await player.get(path('balance')), 200);
      expect(objectOf(balance, 'native').amount).to.equal('1000000000');
      expect(await wallets.lamportsOf(player.wallet.address)).to.equal(LAMPORTS_PER_SOL);
    });

    it(`yields one key and one next wallet, requested ${AT_ONCE} times at once and again`, async () => {
      const { recipientPublicKey } = newRecipient();
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => exportIt({ recipientPublicKey })),
      );
      const [first] = answers;
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).to.deep.equal(
        new Set([`200 ${first?.text}`]),
      );
      expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
      // Even with an older sign-in: nothing new is decided.
      wallets.passTime(1_000);
      expect(await exportIt({ recipientPublicKey })).to.include({ replayed: true, text: first?.text });

      for (const body of [{}, { recipientPublicKey: newRecipient().recipientPublicKey }]) {
        const conflict = await exportIt(body);
        expect(verdict(conflict)).to.equal('409 wallets/idempotency_conflict');
        expect(conflict.json.details).to.deep.equal({ key: 'mine-now', field: 'recipientPublicKey' });
      }
      const again = await exportIt({ idempotencyKey: 'once-more', recipientPublicKey });
      expect(verdict(again)).to.equal('409 wallets/not_active');
      expect(again.json.details).to.deep.equal({ status: 'exported' });
      expect(Object((await player.get('/me')).json.user).wallets).to.have.length(2);
    });

    it('hands its key out unsealed if no recipient is named, and never seals it for an invalid key', async () => {
      const ofSmallOrder = Buffer.alloc(32).toString('base64');
      const none = await exportIt({ recipientPublicKey: ofSmallOrder });
      expect(verdict(none)).to.equal('400 wallets/invalid_recipient_key');
      for (const recipientPublicKey of [
        '',
        'x',
        Buffer.alloc(31).toString('base64'),
        `${'A'.repeat(42)}B=`,
      ]) {
        expect(verdict(await exportIt({ recipientPublicKey }))).to.equal('400 request/invalid');
      }
      const answer = requireStatus(await exportIt(), 200);
      const { secretKey, ...exported } = objectOf(answer, 'exported');
      expect(exported).to.deep.equal({ id: player.wallet.id, address: player.wallet.address });
      expect((await exportIt()).text).to.equal(answer.text);
      const bytes = secretKeyBytes(secretKey);
      expect(encodeBase58(nacl.sign.keyPair.fromSeed(bytes.subarray(0, 32)).publicKey)).to.equal(
        player.wallet.address,
      );
      expect(encodeBase58(bytes.subarray(32))).to.equal(player.wallet.address);
    });

    it('has its key destroyed after a day, and no longer handed out', async () => {
      const { recipientPublicKey } = newRecipient();
      const first = requireStatus(await exportIt({ recipientPublicKey }), 200);
      wallets.passTime(ONE_DAY_SECONDS - 1);
      await player.signIn();
      expect(await exportIt({ recipientPublicKey })).to.include({ status: 200, text: first.text });
      expect(await keyRows()).to.have.length(1);
      wallets.passTime(1);
      expect(verdict(await exportIt({ recipientPublicKey }))).to.equal('409 wallets/export_expired');
      // By some process: at its start, and every minute.
      await wallets.carriedUntil('the key is gone', async () => (await keyRows()).length === 0 || undefined);
      const boxes = 'select 1 from records.wallets_sealed_exports where wallet_id = $1';
      expect((await pool.query(boxes, [player.wallet.id])).rowCount).to.equal(0);
      expect(verdict(await exportIt({ recipientPublicKey }))).to.equal('409 wallets/export_expired');
      expect((await player.get('/wallets/me')).json).to.include({ id: objectOf(first, 'wallet').id });
    });
  });

  describe('that an operator replaces', () => {
    const migrate = async (ref = 'ticket-1') => {
      const admin = `/portal/app/${wallets.app.appId}/test/users/${player.userId}/wallets/migrate`;
      return requireStatus(await wallets.world.client.post(admin, { ref }), 200);
    };
    const sweepsIn = (answer: Answer): readonly Readonly<Record<string, unknown>>[] =>
      Array.isArray(answer.json.sweeps) ? answer.json.sweeps : expect.fail();
    const amountsIn = (answer: Answer) =>
      Object.fromEntries(sweepsIn(answer).map(({ mint, amount }) => [mint, amount]));

    it('is followed by what it held, and by what arrives there later', async () => {
      const old = player.wallet;
      const give = async (lamports: bigint, tokens: bigint) => {
        await wallets.node.fund(old.address, lamports);
        await wallets.node.giveTokens(old.address, GEM.mint, tokens);
      };
      await give(LAMPORTS_PER_SOL, 77n);
      const first = await migrate();
      const { from, to } = first.json;
      const address = textOf({ ...first, json: Object(to) }, 'address');
      expect(from).to.deep.equal({ id: old.id, address: old.address, status: 'migrated' });
      expect(to).to.deep.include({ status: 'active' });
      expect(amountsIn(first)).to.deep.equal({ native: '1000000000', [GEM.mint]: '77' });
      const me = requireStatus(await player.get('/wallets/me'), 200).json;
      expect(me).to.include({ id: Object(to).id, address, status: 'active' });

      // The same again, before anything has moved, joins what is in flight.
      const idsIn = (answer: Answer) => sweepsIn(answer).map(({ moveId }) => moveId);
      expect(idsIn(await migrate())).to.have.members(idsIn(first));
      const arrived = (lamports: bigint, tokens: bigint) => async () => {
        const [sol, gems] = [await wallets.lamportsOf(address), await wallets.tokensOf(address)];
        return (sol === lamports && gems === tokens) || undefined;
      };
      await wallets.carriedUntil('all of it has followed', arrived(LAMPORTS_PER_SOL, 77n));

      await give(5_000_000n, 3n);
      const later = await wallets.carriedUntil('what arrived later is on its way', async () => {
        const again = await migrate();
        return amountsIn(again).native === '5000000' && amountsIn(again)[GEM.mint] === '3'
          ? again
          : undefined;
      });
      expect([later.json.from, later.json.to]).to.deep.equal([from, to]);
      await wallets.carriedUntil('that has followed too', arrived(LAMPORTS_PER_SOL + 5_000_000n, 80n));
      expect(await wallets.lamportsOf(old.address)).to.equal(0n);
      expect(await wallets.tokensOf(old.address)).to.equal(0n);

      const request = { idempotencyKey: 'old', toAddress: newAddress(), amount: '2000000' };
      expect(verdict(await player.post(path('withdraw'), request))).to.equal('409 wallets/not_active');
      expect(verdict(await exportIt())).to.equal('409 wallets/not_active');
    });

    it('is replaced once per ref, and again under another', async () => {
      const first = await migrate();
      expect(await migrate()).to.include({ text: first.text });
      const second = await migrate('ticket-2');
      expect(objectOf(second, 'from')).to.include({ id: objectOf(first, 'to').id, status: 'migrated' });
      expect(objectOf(second, 'to').id).not.to.equal(objectOf(first, 'to').id);
      const statuses = Object((await player.get('/me')).json.user).wallets.map(Object);
      expect(statuses.map(({ status }: { status: string }) => status)).to.deep.equal([
        'migrated',
        'migrated',
        'active',
      ]);
      const again = await migrate();
      expect(objectOf(again, 'to')).to.deep.equal({ ...objectOf(first, 'to'), status: 'migrated' });
      expect(again.replayed, 'it answers how things stand now').to.equal(false);
    });
  });
});

const KINDS = ['deposit', 'cash-out', 'withdrawal'] as const;
type Kind = (typeof KINDS)[number];

describe('a wallet with a move that was accepted', () => {
  let wallets: PlayersOnChain;
  let other: ContextNode;
  before(async () => {
    wallets = await startPlayersOnChain();
    other = await wallets.world.startNode({ roles: ['api'] });
  });
  after(() => wallets.stop());

  const AMOUNT = '1000000';
  let refs = 0;

  async function newPlayer(): Promise<Player> {
    const player = await wallets.newPlayer();
    await wallets.node.fund(player.wallet.address, LAMPORTS_PER_SOL);
    await wallets.app.test.credit(player.userId, AMOUNT, player.userId, 'SOL');
    return player;
  }
  async function fundTreasury(): Promise<void> {
    const found = await wallets.world.client.get(`/portal/app/${wallets.app.appId}/test/wallets`);
    for (const { address } of Object(found.json.items)) await wallets.node.fund(address, LAMPORTS_PER_SOL);
  }
  const request = {
    deposit: ({ userId }: Player, ref: string, client: Client) =>
      client.post('/treasury/deposit', { userId, currency: 1, amount: AMOUNT, ref }, key()),
    'cash-out': ({ userId }: Player, ref: string, client: Client) =>
      client.post('/treasury/withdraw', { userId, currency: 1, amount: AMOUNT, ref }, key()),
    withdrawal: ({ wallet, accessToken }: Player, idempotencyKey: string, client: Client) =>
      client.post(
        `/wallets/${wallet.id}/withdraw`,
        { idempotencyKey, toAddress: newAddress(), amount: AMOUNT },
        { key: accessToken() },
      ),
  };
  const key = () => ({ key: wallets.app.test.secretKey });
  const ask = (kind: Kind, player: Player, client = wallets.world.client) =>
    request[kind](player, `ref-${++refs}`, client);
  const exportIt = ({ wallet, accessToken }: Player, client = wallets.world.client) =>
    client.post(`/wallets/${wallet.id}/export`, { idempotencyKey: 'mine' }, { key: accessToken() });
  const preflight = ({ wallet, accessToken }: Player, client = wallets.world.client) =>
    client.get(`/wallets/${wallet.id}/export/preflight`, { key: accessToken() });

  const expectRefused = (answer: Answer) => {
    expect(verdict(answer)).to.equal('409 wallets/export_not_allowed');
    expect(answer.json.details).to.deep.equal({ reasons: ['moves_in_flight'], floor: [] });
  };

  for (const kind of KINDS) {
    it(`is not exported before the ${kind} has ended, and at once after that`, async () => {
      await fundTreasury();
      const eight = await Promise.all(Array.from({ length: 8 }, newPlayer));
      await Promise.all(
        eight.map(async (player) => {
          const accepted = await ask(kind, player);
          expect(accepted.status).to.be.oneOf([200, 201]);
          expectRefused(await exportIt(player));
        }),
      );
      for (let turn = 0; turn < 6; turn++) {
        const player = await newPlayer();
        // Whichever node gets the request.
        const [here, there] = turn % 2 === 0 ? [wallets.world, other] : [other, wallets.world];
        expect((await ask(kind, player, here.client)).status).to.be.oneOf([200, 201]);
        expectRefused(await exportIt(player, there.client));
        expect((await preflight(player, there.client)).json).to.deep.equal({
          allowed: false,
          reasons: ['moves_in_flight'],
          floor: [],
        });
        expectRefused(await exportIt(player, here.client));
        eight.push(player);
      }
      await wallets.carriedUntil(`each ${kind} has ended`, async () => {
        const found = await Promise.all(eight.map((player) => preflight(player)));
        return found.every(({ json }) => json.allowed === true) || undefined;
      });
      for (const player of eight) requireStatus(await exportIt(player), 200);
    });
  }

  it('is exported and moved from at once: either the key is handed out, or the money moves', async () => {
    await fundTreasury();
    for (let turn = 0; turn < 8; turn++) {
      for (const kind of KINDS) {
        const player = await newPlayer();
        const ref = `both-${turn}-${kind}`;
        const [moved, exported] = await Promise.all([
          request[kind](player, ref, turn % 2 === 0 ? wallets.world.client : other.client),
          exportIt(player),
        ]);
        const isExported = exported.status === 200;
        if (!isExported) expectRefused(exported);
        if (!isExported) expect(moved.status).to.be.oneOf([200, 201]);
        else if (kind !== 'cash-out') expect(moved.status).to.equal(409);
        // Until the next wallet is there, the user has none.
        else if (moved.status !== 200) expect(verdict(moved)).to.equal('409 wallets/no_wallet');
        if (!isExported || moved.status !== 200) continue;
        // The funds were held by then: nothing can be in flight from an ended wallet, so they come back.
        const stream = `move-test.${wallets.app.appId}.${moved.json.moveId}`;
        const log = await wallets.world.client.lines(`/portal/streams/${stream}`);
        if (log.length > 1)
          expect(log.map(({ type }) => type)).to.deep.equal(['MoveRequested', 'MoveFailed']);
      }
    }
  });
});

describe('a move that a former release has requested', () => {
  it('keeps its wallet from being exported, according to rows of all that was in the log at the start', async () => {
    const wallets = await startPlayersOnChain({ roles: ['api', 'process-manager'] });
    const at = wallets.clock().toISOString();
    try {
      const player = await wallets.newPlayer();
      const { id, address } = player.wallet;
      await wallets.node.fund(address, LAMPORTS_PER_SOL);
      const found = await wallets.world.client.get(`/portal/app/${wallets.app.appId}/test/wallets`);
      const [treasury] = Object(found.json.items);
      const { appId, scopeId } = wallets.app;
      const { store } = wallets.world;
      await createMoves({ handler: createCommandHandler({ store }), store }).request(
        treasuryMovePlace('test', appId, 'former'),
        {
          operation: 'deposit',
          key: 'former',
          appId,
          userId: player.userId,
          currencyId: 1,
          mint: 'native',
          decimals: 9,
          amount: 500_000_000n,
          from: { walletId: id, ownerId: scopeId, address },
          toAddress: treasury.address,
          requestedAt: at,
        },
        {
          metadata: { correlationId: 'former', actor: 'key:1', occurredAt: at },
          deadlineMs: patiently(),
        },
      );

      const upgraded = await wallets.world.startNode({ roles: ['api'] });
      const exportIt = () =>
        upgraded.client.post(`/wallets/${id}/export`, { idempotencyKey: 'k' }, { key: player.accessToken() });
      expect(verdict(await exportIt()), 'nobody fills the rows').to.equal('503 service/not_ready');
      await wallets.world.startNode({ roles: ['projector'] });
      const refused = await eventually('the rows are there', async () => {
        const answer = await exportIt();
        return answer.status === 503 ? undefined : answer;
      });
      expect(verdict(refused)).to.equal('409 wallets/export_not_allowed');
      expect(refused.json.details).to.deep.equal({ reasons: ['moves_in_flight'], floor: [] });
      await wallets.carriedUntil('the deposit has ended', async () => {
        const status = await wallets.app.test.post('/treasury/status', { ref: 'former' });
        return requireStatus(status, 200).json.status === 'confirmed' || undefined;
      });
      requireStatus(await exportIt(), 200);
    } finally {
      await wallets.stop();
    }
  });
});
