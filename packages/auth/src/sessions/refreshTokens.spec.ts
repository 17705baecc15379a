import { newId } from '@coffer/kernel';
import { expect } from 'chai';
import fc from 'fast-check';
import { REFRESH_KEY } from '../testing/sessionsWorld.ts';
import { createRefreshTokens } from './refreshTokens.ts';

const tokens = createRefreshTokens(REFRESH_KEY);
const token = { sessionId: newId('sid'), generation: 3, expiresAtSeconds: 1_800_000_000 };

describe('a refresh token', () => {
  it('is read back as it was made, for every session, generation and time', () =>
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.nat(0xff_ffff_ffff), (generation, expiresAtSeconds) => {
        const made = { sessionId: newId('sid'), generation, expiresAtSeconds };
        expect(tokens.read(tokens.textOf(made))).to.deep.equal(made);
      }),
    ));

  it('is the same text for the same token on every node and in every release: clients keep it', () => {
    const fixed = {
      sessionId: 'sid_01kjmt3k0ae1pva2hd6vhp8t5j',
      generation: 3,
      expiresAtSeconds: 1_800_000_000,
    };
    expect(createRefreshTokens(REFRESH_KEY).textOf(fixed)).to.equal(tokens.textOf(fixed));
    expect(tokens.textOf(fixed)).to.equal(
      'rt_ATAxa2ptdDNrMGFlMXB2YTJoZDZ2aHA4dDVqAAAAAwBrSdIAE9tqTM02LWyoJU5Lrsksnseyly2CMXCHF6PMJkDNYso',
    );
  });

  it('cannot be made from another one: no byte of it can be changed', () => {
    const bytes = Buffer.from(tokens.textOf(token).slice(3), 'base64url');
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      expect(tokens.read(`rt_${changed.toString('base64url')}`), `byte ${index}`).to.equal(undefined);
    }
  });

  it('has one spelling', () => {
    const text = tokens.textOf(token);
    const last = text.at(-1) ?? '';
    for (const other of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      if (other !== last) expect(tokens.read(text.slice(0, -1) + other), other).to.equal(undefined);
    }
  });

  it('of another key is not one', () => {
    const others = createRefreshTokens(Buffer.alloc(32, 7));
    expect(tokens.read(others.textOf(token))).to.equal(undefined);
  });

  it('is not read from any other text', () => {
    for (const text of [
      '',
      'rt_',
      'x',
      `${tokens.textOf(token)}A`,
      tokens.textOf(token).slice(3),
      'rt_\u0000'.padEnd(94, 'A'),
    ]) {
      expect(tokens.read(text), text).to.equal(undefined);
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(tokens.read(text)).to.equal(undefined);
      }),
    );
  });

  it('needs a key worth the name', () => {
    expect(() => createRefreshTokens(Buffer.alloc(31))).to.throw('must have 32 bytes');
  });
});
