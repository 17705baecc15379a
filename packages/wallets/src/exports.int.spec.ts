import { createPublicKey, verify } from 'node:crypto';
import { decodeBase58Address, encodeBase58, Rejection, type UserPlace } from '@coffer/kernel';
import { codeOf, createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import nacl from 'tweetnacl';
import { sign } from './ed25519.ts';
import { EXPORT_LIFETIME_MS, type ExportAnswer } from './exports.ts';
import {
  contextOf,
  firstKeys,
  NOW,
  newOwner,
  openingFor,
  startWalletWorld,
  type WalletProcess,
  type WalletWorld,
  walletTemplate,
} from './testing/index.ts';

const MESSAGE = Buffer.from('message');
const allowed = async () => undefined;

/** The 64 bytes, decoded from base58 by other means than the product's. */
function bytesOf(text: string): Buffer {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let value = 0n;
  for (const character of text) value = value * 58n + BigInt(alphabet.indexOf(character));
  return Buffer.from(value.toString(16).padStart(128, '0'), 'hex');
}

function isSignedBy(address: string, signature: Uint8Array): boolean {
  const x = Buffer.from(decodeBase58Address(address) ?? []).toString('base64url');
  return verify(
    null,
    MESSAGE,
    createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
    signature,
  );
}

function opened(answer: ExportAnswer, recipientSecret: Uint8Array): Uint8Array | null {
  if (!('sealedSecretKey' in answer.exported)) throw new Error('not sealed');
  const sealed = Buffer.from(answer.exported.sealedSecretKey, 'base64');
  const [ephemeral, nonce, box] = [sealed.subarray(0, 32), sealed.subarray(32, 56), sealed.subarray(56)];
  return nacl.box.open(box, nonce, ephemeral, recipientSecret);
}

describe('an export', () => {
  let world: WalletWorld;
  let service: WalletProcess;
  let now = NOW;
  const keys = firstKeys();
  before(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
  });
  beforeEach(async () => {
    now = NOW;
    service = await world.start(keys, () => now);
  });
  after(() => world.stop());

  const newWallet = async () => {
    const owner = newOwner();
    const { id, address } = await service.wallets.provision(owner, contextOf());
    return {
      owner,
      id,
      address,
      place: { ownerId: owner.scopeId, environment: 'test', walletId: id } as const,
    };
  };
  const exportOf = (
    { owner, id }: { owner: UserPlace; id: string },
    recipientPublicKey: string | null = null,
    idempotencyKey = 'export-1',
  ) =>
    service.exports.exportWallet(
      owner,
      { walletId: id, idempotencyKey, recipientPublicKey },
      allowed,
      contextOf(),
    );
  const eventsOf = async (owner: UserPlace) =>
    (await Array.fromAsync(world.store.readAll()))
      .flat()
      .filter(({ data }) => data.includes(owner.userId))
      .map(({ type }) => type);

  it('hands out the key, which signs as the wallet did, and gives the user another wallet', async () => {
    const one = await newWallet();
    const { answer, replayed } = await exportOf(one);

    expect(replayed).to.equal(false);
    expect(answer.exported).to.include({ id: one.id, address: one.address });
    if (!('secretKey' in answer.exported)) throw new Error('sealed');
    const bytes = bytesOf(answer.exported.secretKey);
    expect(encodeBase58(bytes.subarray(32))).to.equal(one.address);
    expect(isSignedBy(one.address, sign(bytes.subarray(0, 32), MESSAGE))).to.equal(true);

    const views = await service.wallets.walletsOf(one.owner, contextOf());
    expect(views.map(({ id, status }) => ({ id, status }))).to.deep.equal([
      { id: one.id, status: 'exported' },
      { id: answer.wallet.id, status: 'active' },
    ]);
    expect(answer.wallet).to.deep.equal(views[1]);
    expect(await eventsOf(one.owner)).to.deep.equal([
      'WalletProvisioned',
      'WalletExported',
      'WalletProvisioned',
    ]);
  });

  it('stops the service signing with the old key, but not with the new one', async () => {
    const one = await newWallet();
    const { answer } = await exportOf(one);
    expect(await codeOf(service.signer.sign(one.place, MESSAGE, openingFor('sign')))).to.equal(
      'wallets/not_found',
    );
    const place = { ...one.place, walletId: answer.wallet.id };
    expect(
      isSignedBy(answer.wallet.address, await service.signer.sign(place, MESSAGE, openingFor('sign'))),
    ).to.equal(true);
  });

  it('seals the key so that the recipient opens it and nobody else', async () => {
    const one = await newWallet();
    const recipient = nacl.box.keyPair();
    const { answer } = await exportOf(one, Buffer.from(recipient.publicKey).toString('base64'));

    const bytes = Buffer.from(opened(answer, recipient.secretKey) ?? []);
    expect(isSignedBy(one.address, sign(bytes.subarray(0, 32), MESSAGE))).to.equal(true);
    expect(opened(answer, nacl.box.keyPair().secretKey)).to.equal(null);
    expect(answer.exported).not.to.have.property('secretKey');
  });

  it('is answered the same for 24 hours, sealed or not, by any process and under a rotated master key', async () => {
    const one = await newWallet();
    const other = await newWallet();
    const recipient = Buffer.from(nacl.box.keyPair().publicKey).toString('base64');
    const first = [await exportOf(one), await exportOf(other, recipient)];
    now = new Date(NOW.getTime() + EXPORT_LIFETIME_MS - 1);
    await service.exports.destroyOldKeys(100);
    service = await world.start(keys, () => now);
    const again = [await exportOf(one), await exportOf(other, recipient)];
    expect(again.map(({ answer }) => JSON.stringify(answer))).to.deep.equal(
      first.map(({ answer }) => JSON.stringify(answer)),
    );
    expect(again.map(({ replayed }) => replayed)).to.deep.equal([true, true]);
  });

  it('is answered the same even after the next wallet was exported', async () => {
    const one = await newWallet();
    const first = await exportOf(one);
    await exportOf({ owner: one.owner, id: first.answer.wallet.id }, null, 'export-2');
    expect((await exportOf(one)).answer).to.deep.equal(first.answer);
  });

  it('is over after 24 hours: the key is gone from the database, and a repeat is refused', async () => {
    const one = await newWallet();
    const recipient = Buffer.from(nacl.box.keyPair().publicKey).toString('base64');
    await exportOf(one, recipient);
    now = new Date(NOW.getTime() + EXPORT_LIFETIME_MS);
    expect(await codeOf(exportOf(one, recipient))).to.equal('wallets/export_expired');

    await service.exports.destroyOldKeys(1_000);
    const { rows } = await world.pool.query(
      `select wallet_id from records.wallets_sealed_keys where wallet_id = $1
       union all select wallet_id from records.wallets_sealed_exports where wallet_id = $1`,
      [one.id],
    );
    expect(rows).to.deep.equal([]);
    expect(await codeOf(exportOf(one, recipient))).to.equal('wallets/export_expired');
    // The user's present wallet is untouched.
    expect(await service.exports.destroyOldKeys(1_000)).to.equal(0);
    const active = (await service.wallets.walletsOf(one.owner, contextOf())).at(-1);
    const place = { ...one.place, walletId: active?.id ?? '' };
    expect(await service.signer.sign(place, MESSAGE, openingFor('sign'))).to.have.length(64);
  });

  it('happens once for fifty requests in parallel, with one answer', async () => {
    const one = await newWallet();
    const recipient = Buffer.from(nacl.box.keyPair().publicKey).toString('base64');
    const second = await world.start(keys, () => now);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 ? service : second).exports.exportWallet(
          one.owner,
          { walletId: one.id, idempotencyKey: 'export-1', recipientPublicKey: recipient },
          allowed,
          contextOf(`req-${index}`),
        ),
      ),
    );
    expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).to.equal(1);
    expect(await eventsOf(one.owner)).to.deep.equal([
      'WalletProvisioned',
      'WalletExported',
      'WalletProvisioned',
    ]);
  });

  it('changes nothing when it is refused', async () => {
    const one = await newWallet();
    const refused = service.exports.exportWallet(
      one.owner,
      { walletId: one.id, idempotencyKey: 'export-1', recipientPublicKey: null },
      () => Promise.reject(new Rejection('wallets/export_not_allowed')),
      contextOf(),
    );
    expect(await codeOf(refused)).to.equal('wallets/export_not_allowed');
    expect(await eventsOf(one.owner)).to.deep.equal(['WalletProvisioned']);
    expect(await service.signer.sign(one.place, MESSAGE, openingFor('sign'))).to.have.length(64);
    expect(await codeOf(exportOf(one))).to.equal('done');
  });

  it('is refused for another user, another key, another recipient, and a recipient key that would hide nothing', async () => {
    const one = await newWallet();
    const stranger = { owner: newOwner({ scopeId: one.owner.scopeId }), id: one.id };
    expect(await codeOf(exportOf(stranger))).to.equal('wallets/not_found');
    const zero = Buffer.alloc(32).toString('base64');
    expect(await codeOf(exportOf(one, zero))).to.equal('wallets/invalid_recipient_key');

    await exportOf(one);
    const recipient = Buffer.from(nacl.box.keyPair().publicKey).toString('base64');
    expect(await codeOf(exportOf(one, recipient))).to.equal('wallets/idempotency_conflict');
    expect(await codeOf(exportOf(one, null, 'export-2'))).to.equal('wallets/not_active');
  });

  it('records each opening of the key', async () => {
    const one = await newWallet();
    await exportOf(one);
    const { rows } = await world.pool.query(
      'select actor, purpose from records.wallets_key_openings where wallet_id = $1',
      [one.id],
    );
    expect(rows).to.deep.equal([{ actor: 'key:1', purpose: `export of ${one.id}` }]);
  });
});
