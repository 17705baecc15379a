/** The endpoints that sign, from outside: over HTTP, on a real database, with Solana's virtual machine as the chain. */

import { createHash, createPublicKey, verify } from 'node:crypto';
import { decodeBase58Address, type UserPlace } from '@coffer/kernel';
import { chainNotConfigured } from '@coffer/solana';
import { failureOf } from '@coffer/testing';
import { createRevokeInstruction } from '@solana/spl-token';
import { ComputeBudgetProgram, SystemProgram } from '@solana/web3.js';
import { expect } from 'chai';
import { ATTACKS, HIDDEN_PAYMENTS } from './testing/attacks/attacks.ts';
import { GOOD } from './testing/attacks/goodTransactions.ts';
import { createLiteSvmChain, type LiteSvmChain, RELAY_PROGRAM } from './testing/attacks/liteSvmChain.ts';
import {
  build,
  closableBy,
  Keypair,
  newScene,
  type PlantedScene,
  PublicKey,
  pay,
  relayed,
} from './testing/attacks/scene.ts';
import {
  inBase64,
  OTHER_PLAYER,
  PLAYER,
  SIGNED_IN_AT,
  type SigningSettings,
  type SigningWorld,
  startSigningWorld,
} from './testing/index.ts';
import type { WalletView } from './wallet.resource.ts';

describe('signing', () => {
  let world: SigningWorld;
  let settings: SigningSettings;
  let chain: LiteSvmChain;
  let wallet: WalletView;
  let others: WalletView;
  let owner: UserPlace;
  let scene: PlantedScene;

  before(async () => {
    world = await startSigningWorld();
    ({ settings, wallet, others, owner } = world);
  });
  after(() => world.stop());
  beforeEach(() => {
    chain = createLiteSvmChain();
    Object.assign(settings, {
      chainOf: () => chain,
      isSuspended: false,
      serverSigningEnabled: true,
      programAllowList: [],
      withdrawStepUpSeconds: 'off',
      now: new Date(SIGNED_IN_AT),
    });
    scene = newScene(chain, new PublicKey(wallet.address));
  });

  const send: SigningWorld['send'] = (...request) => world.send(...request);
  const asPlayer: SigningWorld['asPlayer'] = (...request) => world.asPlayer(...request);
  const asServer: SigningWorld['asServer'] = (...request) => world.asServer(...request);
  const openings = () => world.openings();
  const refusal = (code: string, details: object) => ({ code, details });
  const saidBy = ({ json: { code, details } }: { readonly json: Record<string, unknown> }) => ({
    code,
    details,
  });
  /** Nobody has opened a key for it. */
  const withoutOpening = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const before = (await openings()).length;
    const result = await work();
    expect(await openings()).to.have.length(before);
    return result;
  };

  describe('a good transaction', () => {
    for (const { name, build: of } of GOOD) {
      it(`is signed for a player and for a server, with the same bytes: ${name}`, async () => {
        const wire = of(scene);
        const { status, json } = await asPlayer(wire);
        expect(status, JSON.stringify(json)).to.equal(200);
        expect((await asServer(wire)).json).to.deep.equal(json);
        expect(Object.keys(json)).to.deep.equal(['signedTransaction', 'signature', 'publicKey']);
        expect(json.publicKey).to.equal(wallet.address);

        const signed = Buffer.from(String(json.signedTransaction), 'base64');
        const signers = Number(signed[0]);
        const message = signed.subarray(1 + 64 * signers);
        // Everything but the place of our signature is as it was given.
        expect(message).to.deep.equal(Buffer.from(wire.slice(1 + 64 * signers)));
        expect(signed.subarray(1, 1 + 64 * (signers - 1))).to.deep.equal(
          Buffer.from(wire.slice(1, 1 + 64 * (signers - 1))),
        );
        const signature = signed.subarray(1 + 64 * (signers - 1), 1 + 64 * signers);
        const x = Buffer.from(decodeBase58Address(wallet.address) ?? []).toString('base64url');
        const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
        expect(verify(null, message, key, signature)).to.equal(true);

        const hash = createHash('sha256').update(message).digest('hex');
        expect((await openings()).slice(-2)).to.deep.equal([
          { wallet_id: wallet.id, actor: `user:${owner.userId}`, purpose: `sign ${hash}` },
          { wallet_id: wallet.id, actor: 'key:key_app_1', purpose: `serverSign ${hash}` },
        ]);
        expect(chain.execute(signed)).to.equal(null);
      });
    }
  });

  describe('an attack', () => {
    for (const { name, build: of, verdict } of ATTACKS) {
      it(`is refused, and no key is opened: ${name}`, () =>
        withoutOpening(async () => {
          settings.programAllowList = [RELAY_PROGRAM.toBase58()];
          const wire = of(scene);
          const isInvalid = verdict.code === 'wallets/invalid_transaction';
          for (const answer of [await asPlayer(wire), await asServer(wire)]) {
            expect([answer.status, answer.json.code]).to.deep.equal([isInvalid ? 400 : 403, verdict.code]);
            // Undeclared taking is one more reason if no program is trusted.
            const { reason, reasons = [reason] } = answer.json.details as Record<string, string[]>;
            expect(reasons).to.include(verdict.reason);
          }
        }));
    }

    for (const { name, build: of } of HIDDEN_PAYMENTS) {
      it(`is refused, unless the app trusts the program: ${name}`, async () => {
        const wire = of(scene);
        await withoutOpening(async () => {
          expect(saidBy(await asPlayer(wire))).to.deep.equal(
            refusal('wallets/transaction_refused', { reasons: ['unexplained_outflow'] }),
          );
          const answer = await asServer(wire);
          expect(answer.status).to.equal(403);
          expect(saidBy(answer)).to.deep.equal(
            refusal('wallets/program_not_allowed', { programs: [RELAY_PROGRAM.toBase58()] }),
          );
        });
        settings.programAllowList = [RELAY_PROGRAM.toBase58()];
        expect((await asServer(wire)).status).to.equal(200);
        // What another app trusts does not matter here.
        expect((await asServer(wire, {}, 'sk_test_2')).status).to.equal(403);
        // A player signs alone: the list is for the server.
        expect((await asPlayer(wire)).status).to.equal(403);
      });
    }

    it("is refused: a fee that another of our keys would pay, an operator's or a player's", () =>
      withoutOpening(async () => {
        chain.fund(new PublicKey(others.address), 1_000_000_000n);
        const payer = new PublicKey(others.address);
        expect(saidBy(await asPlayer(build(scene, [pay(scene, scene.thief, 1)], { payer })))).to.deep.equal(
          refusal('wallets/transaction_refused', { reasons: ['own_key_signer', 'fee_payer_signature'] }),
        );
        // Also if our wallet pays for what that one would do.
        const drain = pay({ ...scene, wallet: payer }, scene.thief, 1);
        expect(saidBy(await asPlayer(build(scene, [drain])))).to.deep.equal(
          refusal('wallets/transaction_refused', { reasons: ['other_signer', 'own_key_signer'] }),
        );
      }));

    it('is refused: an unreadable program, from a server whose app does not list it', () =>
      withoutOpening(async () => {
        const wire = build(scene, [relayed(pay({ ...scene, wallet: scene.thief }, scene.wallet, 1))], {});
        // The thief would have to sign, so that reason comes first.
        expect(saidBy(await asServer(wire))).to.deep.equal(
          refusal('wallets/transaction_refused', { reasons: ['other_signer'] }),
        );
      }));
  });

  it('answers why a transaction would fail', () =>
    withoutOpening(async () => {
      const answer = await asPlayer(build(scene, [pay(scene, scene.thief, 99_000_000_000n)]));
      expect(answer.status).to.equal(409);
      expect(answer.json.code).to.equal('wallets/simulation_failed');
      expect(answer.json.details).to.have.property('reason').that.is.a('string').and.is.not.empty;
    }));

  for (const [what, transaction] of [
    ['no text at all', ''],
    ['no base64', 'not base64!'],
    ['base64 without its padding', 'AAA'],
    ['base64url', '-_-_'],
  ] as const) {
    it(`must be of one transaction: ${what}`, async () => {
      const answer = await send(`/wallets/${wallet.id}/sign`, PLAYER, { transaction });
      expect(answer.status).to.equal(400);
      expect(answer.json.code).to.equal('wallets/invalid_transaction');
    });
  }

  describe('who may', () => {
    it("is the wallet's player: any other wallet is not found", async () => {
      const transaction = inBase64(build(scene, [pay(scene, scene.thief, 1)]));
      for (const [id, token] of [
        [wallet.id, OTHER_PLAYER],
        [others.id, PLAYER],
        ['wlt_nothing', PLAYER],
      ] as const) {
        const answer = await send(`/wallets/${id}/sign`, token, { transaction });
        expect([answer.status, answer.json.code]).to.deep.equal([404, 'wallets/not_found']);
      }
    });

    it('is nobody with the wrong kind of credential', async () => {
      const transaction = inBase64(build(scene, [pay(scene, scene.thief, 1)]));
      expect((await send(`/wallets/${wallet.id}/sign`, 'sk_test_1', { transaction })).status).to.equal(403);
      expect((await send('/wallets/sign', PLAYER, { userId: owner.userId, transaction })).status).to.equal(
        403,
      );
    });

    it('is a server only if the app has switched that on, whatever it sends', async () => {
      settings.serverSigningEnabled = false;
      const answer = await send('/wallets/sign', 'sk_test_1', { nonsense: true });
      expect([answer.status, answer.json.code]).to.deep.equal([403, 'wallets/server_signing_disabled']);
    });

    it('is a server for a user that exists', async () => {
      const transaction = inBase64(build(scene, [pay(scene, scene.thief, 1)]));
      const answer = await send('/wallets/sign', 'sk_test_1', { userId: 'usr_nobody', transaction });
      expect([answer.status, answer.json.code]).to.deep.equal([404, 'users/not_found']);
    });

    it('is nobody for a suspended user, but an earlier answer is repeated', async () => {
      const wire = build(scene, [pay(scene, scene.thief, 11)]);
      const first = await asPlayer(wire, { idempotencyKey: 'before-suspension' });
      settings.isSuspended = true;
      await withoutOpening(async () => {
        for (const answer of [await asPlayer(wire), await asServer(wire)]) {
          expect([answer.status, answer.json.code]).to.deep.equal([403, 'users/suspended']);
        }
        const again = await asPlayer(wire, { idempotencyKey: 'before-suspension' });
        expect([again.status, again.text]).to.deep.equal([200, first.text]);
      });
    });

    it('is nobody if no node is configured', async () => {
      settings.chainOf = (environment) => {
        throw chainNotConfigured(environment);
      };
      const answer = await asPlayer(build(scene, [pay(scene, scene.thief, 1)]));
      expect([answer.status, answer.json.code]).to.deep.equal([503, 'chain/not_configured']);
    });

    it('is nobody while the node is unreachable', () =>
      withoutOpening(async () => {
        chain.disconnect();
        const answer = await asPlayer(build(scene, [pay(scene, scene.thief, 1)]));
        expect([answer.status, answer.json.code]).to.deep.equal([503, 'chain/unreachable']);
      }));
  });

  describe('under a key', () => {
    const good = (lamports: number) => build(scene, [pay(scene, scene.thief, lamports)]);

    it('answers again byte for byte, and opens no key again', async () => {
      const wire = good(21);
      const first = await asPlayer(wire, { idempotencyKey: 'again' });
      expect(first.replayed).to.equal(null);
      await withoutOpening(async () => {
        // Even if it would no longer be signed, and with the key in the header.
        scene.chain.fund(scene.wallet, 1n);
        const body = await asPlayer(wire, { idempotencyKey: 'again' });
        const header = await asPlayer(wire, {}, { 'idempotency-key': 'again' });
        for (const again of [body, header]) {
          expect([again.status, again.text, again.replayed]).to.deep.equal([200, first.text, 'true']);
        }
      });
    });

    it('never stands for two transactions', async () => {
      await asPlayer(good(31), { idempotencyKey: 'one' });
      const answer = await withoutOpening(() => asPlayer(good(32), { idempotencyKey: 'one' }));
      expect(answer.status).to.equal(409);
      expect(saidBy(answer)).to.deep.equal(
        refusal('wallets/idempotency_conflict', { key: 'one', field: 'transaction' }),
      );
    });

    it('is scoped to the wallet, the operation and the caller', async () => {
      const answers = [
        await asPlayer(good(41), { idempotencyKey: 'mine' }),
        await asServer(good(42), { idempotencyKey: 'mine' }),
        await asServer(good(43), { idempotencyKey: 'mine' }, 'sk_test_2'),
      ];
      expect(answers.map(({ status, replayed }) => [status, replayed])).to.deep.equal([
        [200, null],
        [200, null],
        [200, null],
      ]);
    });

    it('is not used up by a refusal', async () => {
      const tooMuch = good(99_000_000_000);
      expect((await asPlayer(tooMuch, { idempotencyKey: 'later' })).status).to.equal(409);
      expect((await asPlayer(good(51), { idempotencyKey: 'later' })).status).to.equal(200);
    });

    it('answers the same to fifty at once', async () => {
      const wire = good(61);
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => asPlayer(wire, { idempotencyKey: 'fifty' })),
      );
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1);
      expect(answers[0]?.status).to.equal(200);
      expect(answers.filter(({ replayed }) => replayed === null)).to.have.length(1);
    });

    it('goes to one of two transactions at once, and the other is never signed', async () => {
      const wires = [good(71), good(72)];
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          asPlayer(wires[index % 2] ?? new Uint8Array(), { idempotencyKey: 'race' }),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      expect([...new Set(statuses)].sort()).to.deep.equal([200, 409]);
      const winner = statuses.indexOf(200) % 2;
      expect(statuses.every((status, index) => (status === 200) === (index % 2 === winner))).to.equal(true);
      const lost = wires[1 - winner]?.slice(65) ?? new Uint8Array();
      const purpose = `sign ${createHash('sha256').update(lost).digest('hex')}`;
      expect((await openings()).map((one) => one.purpose)).not.to.include(purpose);
    });

    it('that was claimed by a process that died is finished by a repeat of the request', async () => {
      const wire = good(81);
      const hash = createHash('sha256').update(wire).digest();
      await world.pool.query(
        `insert into records.wallets_signings (wallet_id, operation, asked_by, idempotency_key, transaction_hash)
         values ($1, 'sign', $2, 'claimed', $3)`,
        [wallet.id, `user:${owner.userId}`, hash],
      );
      const unkeyed = await asPlayer(wire);
      const repeated = await asPlayer(wire, { idempotencyKey: 'claimed' });
      expect([repeated.status, repeated.text]).to.deep.equal([200, unkeyed.text]);
    });

    it('is kept: nobody changes or removes its answer', async () => {
      await asPlayer(good(91), { idempotencyKey: 'kept' });
      for (const sql of [
        `update records.wallets_signings set answer = '{}' where idempotency_key = 'kept'`,
        `delete from records.wallets_signings where idempotency_key = 'kept'`,
        'truncate records.wallets_signings',
      ]) {
        const failure = await failureOf(world.pool.query(sql));
        expect(failure, sql).to.match(/is a record/);
      }
    });

    it('must be the same in body and header if both carry one', async () => {
      const wire = good(1);
      const headers = { 'idempotency-key': 'in-the-header' };
      const body = { idempotencyKey: 'in-the-body', transaction: inBase64(wire) };
      for (const answer of [
        await asPlayer(wire, body, headers),
        await send('/wallets/sign', 'sk_test_1', { ...body, userId: owner.userId }, headers),
      ]) {
        expect([answer.status, answer.json.code]).to.deep.equal([400, 'request/invalid']);
      }
    });

    it('must have the form of a key', async () => {
      const wire = good(1);
      for (const answer of [
        await asPlayer(wire, { idempotencyKey: 'no key' }),
        await asPlayer(wire, {}, { 'idempotency-key': 'no key' }),
      ]) {
        expect([answer.status, answer.json.code]).to.deep.equal([400, 'request/invalid']);
      }
    });
  });

  describe('if the app requires a recent sign-in for value that leaves', () => {
    beforeEach(() => {
      settings.withdrawStepUpSeconds = 60;
      settings.now = new Date(Date.parse(SIGNED_IN_AT) + 60_001);
    });
    const asked = refusal('auth/reauthentication_required', { maxAgeSeconds: 60 });

    for (const { name, build: of, keepsValue } of GOOD) {
      it(`${keepsValue ? 'does not ask' : 'asks'} for: ${name}`, async () => {
        const wire = of(scene);
        if (keepsValue) expect((await asPlayer(wire)).status).to.equal(200);
        else await withoutOpening(async () => expect(saidBy(await asPlayer(wire))).to.deep.equal(asked));
        // A server has no sign-in.
        expect((await asServer(wire)).status).to.equal(200);
        settings.now = new Date(Date.parse(SIGNED_IN_AT) + 60_000);
        expect((await asPlayer(wire)).status).to.equal(200);
      });
    }

    for (const [what, of] of [
      [
        'an unreadable program',
        () => build(scene, [relayed(createRevokeInstruction(scene.held, scene.wallet))]),
      ],
      [
        'coins for an account of ours that somebody else may close',
        () => build(scene, [pay(scene, closableBy(scene.thief, scene), 1)]),
      ],
      [
        'a priority fee',
        () =>
          build(scene, [
            ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
            pay(scene, scene.wallet, 1),
          ]),
      ],
      [
        'coins sent when as much comes back',
        () =>
          build(
            scene,
            [
              pay(scene, scene.thief, 5),
              SystemProgram.transfer({
                fromPubkey: scene.sponsor.publicKey,
                toPubkey: scene.wallet,
                lamports: 5,
              }),
            ],
            { payer: scene.sponsor.publicKey, signers: [scene.sponsor] },
          ),
      ],
    ] as const) {
      it(`asks for: ${what}`, () =>
        withoutOpening(async () => expect(saidBy(await asPlayer(of()))).to.deep.equal(asked)));
    }

    it('first says what it would never sign', async () => {
      const answer = await asPlayer(build(scene, [relayed(pay(scene, scene.thief, 1))]));
      expect(answer.json.code).to.equal('wallets/transaction_refused');
    });

    it('answers again what it has signed, and asking uses up no key', async () => {
      const wire = build(scene, [pay(scene, scene.thief, 7)]);
      const key = { idempotencyKey: 'signed-in-time' };
      expect(saidBy(await asPlayer(wire, key))).to.deep.equal(asked);
      settings.now = new Date(SIGNED_IN_AT);
      const other = build(scene, [pay(scene, scene.thief, 8)]);
      const first = await asPlayer(other, key);
      expect(first.status).to.equal(200);
      settings.now = new Date(Date.parse(SIGNED_IN_AT) + 60_001);
      const again = await asPlayer(other, key);
      expect([again.status, again.text, again.replayed]).to.deep.equal([200, first.text, 'true']);
    });
  });

  it('with a sponsor signs what the sponsor has signed, and nothing else of it', async () => {
    const sponsor = Keypair.generate();
    chain.fund(sponsor.publicKey, 1_000_000_000n);
    const wire = build(scene, [pay(scene, scene.thief, 5)], {
      payer: sponsor.publicKey,
      signers: [sponsor],
    });
    const { json } = await asPlayer(wire);
    const signed = Buffer.from(String(json.signedTransaction), 'base64');
    expect(signed.subarray(0, 65)).to.deep.equal(Buffer.from(wire.slice(0, 65)));
    expect(json.signature).not.to.equal(undefined);
  });
});
