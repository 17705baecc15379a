import { expect } from 'chai';
import { createPortalTokens } from './portalTokens.ts';

describe('a portal session token', () => {
  let now = new Date('2026-01-01T00:00:00.000Z');
  const clock = () => now;
  const tokens = createPortalTokens({ secretsKey: Buffer.alloc(32, 1), clock });
  const session = { appId: 'app_1', role: 'viewer' } as const;

  it('says which app, and which role', () => {
    const { token, expiresAt } = tokens.issue(session, 60);
    expect(tokens.resolve(token)).to.deep.equal({ kind: 'portal', ...session });
    expect(expiresAt.toISOString()).to.equal('2026-01-01T00:01:00.000Z');
  });

  it('ends by itself', () => {
    const { token } = tokens.issue(session, 60);
    now = new Date(now.getTime() + 60_000);
    expect(tokens.resolve(token)).to.equal(undefined);
  });

  it('is refused if a character of it differs, or another installation issued it', () => {
    const { token } = tokens.issue(session, 60);
    for (let index = 4; index < token.length - 1; index += 1) {
      const other = token[index] === 'A' ? 'B' : 'A';
      expect(tokens.resolve(`${token.slice(0, index)}${other}${token.slice(index + 1)}`)).to.equal(undefined);
    }
    expect(tokens.resolve(`${token}.x`)).to.equal(undefined);
    expect(tokens.resolve('pst_')).to.equal(undefined);
    expect(createPortalTokens({ secretsKey: Buffer.alloc(32, 2), clock }).resolve(token)).to.equal(undefined);
  });
});
