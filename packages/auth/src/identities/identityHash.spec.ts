import { expect } from 'chai';
import { createIdentityHash } from './identityHash.ts';

describe('the hash of an identity', () => {
  const hashOf = createIdentityHash(Buffer.alloc(32, 1));
  const place = { environment: 'test', scopeId: 'scp_01h455vb4pex5vsknk084sn02q' } as const;
  const ada = { type: 'email', externalId: 'ada@example.com' } as const;

  it('is the same for ever: it names the stream by which a returning player is found', () => {
    expect(hashOf(place, ada)).to.equal('cadff95899e3a7c89ac7a2ddcc95582e860c68662b42dd10b90fc0a02f5c91cf');
  });

  it('is another one for every other identity, scope, environment and key', () => {
    const hashes = [
      hashOf(place, ada),
      hashOf(place, { ...ada, type: 'messenger' }),
      hashOf(place, { ...ada, externalId: 'Ada@example.com' }),
      hashOf({ ...place, environment: 'live' }, ada),
      hashOf({ ...place, scopeId: 'scp_01h455vb4pex5vsknk084sn03r' }, ada),
      createIdentityHash(Buffer.alloc(32, 2))(place, ada),
    ];
    expect(new Set(hashes).size).to.equal(hashes.length);
  });

  it('wants a key of 32 bytes', () => {
    expect(() => createIdentityHash(Buffer.alloc(16))).to.throw('32 bytes; this one has 16');
  });
});
