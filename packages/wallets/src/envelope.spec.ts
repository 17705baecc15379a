import { inspect } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { generateKeyPair, publicKeyOf, sign } from './ed25519.ts';
import { type KeyIdentity, openKey, rewrapKey, type SealedKey, SealedKeyError, sealKey } from './envelope.ts';
import { type MasterKey, newMasterKey } from './masterKeys.ts';

const master = newMasterKey('test', 3);
const next = newMasterKey('test', 4);

interface Sealed {
  readonly sealed: SealedKey;
  readonly identity: KeyIdentity;
}

function fresh(walletId = 'wlt_1', masterKey = master): Sealed & { readonly seed: Buffer } {
  const { seed, publicKey } = generateKeyPair();
  const identity = {
    environment: masterKey.environment,
    ownerId: 'scp_1',
    walletId,
    publicKey,
  };
  return { seed, identity, sealed: sealKey(seed, identity, masterKey) };
}

const opened = ({ sealed, identity }: Sealed, masterKey: MasterKey = master) =>
  openKey(sealed, identity, masterKey, (seed) => Buffer.from(seed));

const refuses = (given: Sealed, masterKey: MasterKey = master) => {
  expect(() => opened(given, masterKey)).to.throw(SealedKeyError);
};

function flipped(bytes: Uint8Array, at: number, mask: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(at) ^ mask, at);
  return changed;
}

describe('the envelope of a key', () => {
  it('opens to the seed that was sealed', () => {
    const { seed, ...given } = fresh();
    expect(opened(given).equals(seed)).to.equal(true);
  });

  it('opens under the next master key once it is rewrapped, and only there; the sealed seed stays', () => {
    const { seed, identity, sealed } = fresh();
    const rewrapped = rewrapKey(sealed, identity, { from: master, to: next });
    expect(opened({ sealed: rewrapped, identity }, next).equals(seed)).to.equal(true);
    expect(rewrapped.sealedSeed).to.deep.equal(sealed.sealedSeed);
    refuses({ sealed: rewrapped, identity });
    refuses({ sealed: { ...rewrapped, masterKeyVersion: master.version }, identity });
    refuses({ sealed: { ...sealed, masterKeyVersion: next.version }, identity }, next);
  });

  it('is refused with any bit of it changed, in either layer', () => {
    const { identity, sealed } = fresh();
    const layers = ['wrappedDataKey', 'sealedSeed'] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...layers),
        fc.nat({ max: 59 }),
        fc.integer({ min: 1, max: 255 }),
        (layer, at, mask) =>
          refuses({ sealed: { ...sealed, [layer]: flipped(sealed[layer], at, mask) }, identity }),
      ),
    );
    for (const layer of layers) {
      for (let at = 0; at < 60; at++) {
        refuses({ sealed: { ...sealed, [layer]: flipped(sealed[layer], at, 1) }, identity });
      }
    }
  });

  it('is refused at any other length', () => {
    const { identity, sealed } = fresh();
    for (const layer of ['wrappedDataKey', 'sealedSeed'] as const) {
      for (const length of [0, 11, 12, 27, 28, 44, 59]) {
        refuses({ sealed: { ...sealed, [layer]: sealed[layer].subarray(0, length) }, identity });
      }
      refuses({ sealed: { ...sealed, [layer]: Buffer.concat([sealed[layer], Buffer.alloc(1)]) }, identity });
    }
  });

  it('is refused if any part of what it is bound to has changed', () => {
    const { identity, sealed } = fresh();
    const other = fresh();
    const liveMaster: MasterKey = { ...master, environment: 'live' };
    refuses({ sealed, identity: { ...identity, ownerId: 'scp_2' } });
    refuses({ sealed, identity: { ...identity, walletId: 'wlt_2' } });
    refuses({ sealed, identity: { ...identity, publicKey: other.identity.publicKey } });
    refuses({ sealed, identity: { ...identity, publicKey: flipped(identity.publicKey, 31, 0x80) } });
    // The same bytes of a master key under the other environment's name.
    refuses({ sealed, identity: { ...identity, environment: 'live' } }, liveMaster);
    refuses({ sealed, identity }, liveMaster);
    refuses({ sealed: { ...sealed, format: 2 }, identity });
    // The same bytes of a master key under another version.
    const renamed: MasterKey = { ...master, version: 5 };
    refuses({ sealed: { ...sealed, masterKeyVersion: 5 }, identity }, renamed);
    refuses({ sealed, identity }, renamed);
    refuses({ sealed, identity }, newMasterKey('test', 3));
  });

  it('is not rewrapped if any part of what it is bound to differs', () => {
    const { identity, sealed } = fresh();
    const refusesToRewrap = (
      given: Partial<KeyIdentity>,
      changed: Partial<SealedKey> = {},
      from = master,
    ) => {
      const attempt = () =>
        rewrapKey({ ...sealed, ...changed }, { ...identity, ...given }, { from, to: next });
      expect(attempt).to.throw(SealedKeyError);
    };
    refusesToRewrap({ ownerId: 'scp_2' });
    refusesToRewrap({ walletId: 'wlt_2' });
    refusesToRewrap({ publicKey: fresh().identity.publicKey });
    refusesToRewrap({ environment: 'live' });
    refusesToRewrap({ environment: 'live' }, {}, { ...master, environment: 'live' });
    refusesToRewrap({}, { format: 2 });
    refusesToRewrap({}, { wrappedDataKey: sealed.sealedSeed });
    refusesToRewrap({}, {}, newMasterKey('test', 3));
  });

  it('binds its parts unambiguously: no character can move from one text to the next', () => {
    const { seed, identity } = fresh('wlt_1');
    const sealed = sealKey(seed, { ...identity, ownerId: 'scp_1","x', walletId: 'w' }, master);
    refuses({ sealed, identity: { ...identity, ownerId: 'scp_1', walletId: 'x","w' } });
  });

  it('is refused with a layer from another row, and with its layers exchanged', () => {
    const [one, two] = [fresh('wlt_1'), fresh('wlt_2')];
    refuses({ sealed: two.sealed, identity: one.identity });
    refuses({ sealed: { ...one.sealed, sealedSeed: two.sealed.sealedSeed }, identity: one.identity });
    refuses({ sealed: { ...one.sealed, wrappedDataKey: two.sealed.wrappedDataKey }, identity: one.identity });
    const crossed = {
      ...one.sealed,
      wrappedDataKey: one.sealed.sealedSeed,
      sealedSeed: one.sealed.wrappedDataKey,
    };
    refuses({ sealed: crossed, identity: one.identity });
    // A row copied whole, with its public key, to another wallet.
    refuses({ sealed: one.sealed, identity: { ...one.identity, walletId: 'wlt_2' } });
  });

  it('is not made for a seed that has another public key', () => {
    const { identity } = fresh();
    expect(() => sealKey(generateKeyPair().seed, identity, master)).to.throw(SealedKeyError);
  });

  it('has new nonces and a new data key each time', () => {
    const { seed, identity, sealed } = fresh();
    const again = sealKey(seed, identity, master);
    for (const layer of ['wrappedDataKey', 'sealedSeed'] as const) {
      const nonces = [sealed, again].map((one) => Buffer.from(one[layer].subarray(0, 12)).toString('hex'));
      expect(nonces[0]).not.to.equal(nonces[1]);
    }
    refuses({ sealed: { ...sealed, wrappedDataKey: again.wrappedDataKey }, identity });
  });

  it('lends the seed for a call and wipes it afterwards, even if the call fails', () => {
    const given = fresh();
    const kept: Uint8Array[] = [];
    const signature = openKey(given.sealed, given.identity, master, (seed) => {
      kept.push(seed);
      expect(publicKeyOf(seed).equals(given.identity.publicKey)).to.equal(true);
      return sign(seed, Buffer.from('message'));
    });
    expect(signature).to.have.length(64);
    const failing = () =>
      openKey(given.sealed, given.identity, master, (seed) => {
        kept.push(seed);
        throw new Error('while it is open');
      });
    expect(failing).to.throw('while it is open');
    expect(kept.map((seed) => Buffer.from(seed).toString('hex'))).to.deep.equal(
      Array(2).fill('00'.repeat(32)),
    );
  });

  it('fails with a message that contains no key', () => {
    const { seed, sealed, identity } = fresh();
    const damaged = { ...sealed, sealedSeed: flipped(sealed.sealedSeed, 20, 1) };
    let failure: unknown;
    try {
      openKey(damaged, identity, master, () => undefined);
    } catch (error) {
      failure = error;
    }
    const shown = inspect(failure, { depth: 9, showHidden: true });
    expect(shown).to.include('wlt_1');
    for (const secret of [seed, master.key.export()]) {
      expect(shown).not.to.include(secret.toString('hex')).and.not.to.include(secret.toString('base64'));
    }
  });
});
