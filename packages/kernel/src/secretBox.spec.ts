import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { createSecretBox } from './secretBox.ts';

describe('a secret box', () => {
  const key = randomBytes(32);
  const box = createSecretBox(key);

  it('opens what it sealed, and seals the same text differently each time', () => {
    const sealed = box.seal('123:bot-token', 'here');
    expect(box.open(sealed, 'here')).to.equal('123:bot-token');
    expect(box.seal('123:bot-token', 'here').ciphertext).not.to.equal(sealed.ciphertext);
    expect(JSON.stringify(sealed)).not.to.include('bot-token');
  });

  it('does not open in another place, with another key or after a change', () => {
    const sealed = box.seal('123:bot-token', 'here');
    const changed = Buffer.from(sealed.ciphertext, 'base64');
    changed.writeUInt8(changed.readUInt8(0) ^ 1, 0);

    expect(() => box.open(sealed, 'there')).to.throw();
    expect(() => createSecretBox(randomBytes(32)).open(sealed, 'here')).to.throw();
    expect(() => box.open({ ...sealed, ciphertext: changed.toString('base64') }, 'here')).to.throw();
    expect(() => box.open({ ...sealed, tag: sealed.tag.slice(0, 8) }, 'here')).to.throw();
  });

  it('requires a key of 32 bytes', () => {
    expect(() => createSecretBox(randomBytes(16))).to.throw('32 bytes; this one has 16');
  });
});
