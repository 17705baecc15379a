import { generateKeyPairSync, sign } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import { isSignedBy } from '../signature.ts';
import {
  AUTH_JS_ORDER,
  type Challenge,
  type EnvelopeHeader,
  FORMAT_ORDER,
  type MessageFields,
  messageOf,
  offchainEnvelope,
  renderMessage,
  signablesOf,
} from './message.ts';
import { publicKeyBytes } from './publicKey.ts';

const HEADER = 'solana.com wants you to sign in with your Solana account:\nA';

describe('the text of a Solana sign-in', () => {
  // Source: anza-xyz/wallet-standard, packages/core/util/src/__tests__/signIn.ts.
  const published: readonly (readonly [MessageFields, string])[] = [
    [{ domain: 'solana.com', address: 'A' }, HEADER],
    [{ domain: 'solana.com', address: 'A', statement: 'S' }, `${HEADER}\n\nS`],
    [
      { domain: 'solana.com', address: 'A', uri: 'https://solana.com' },
      `${HEADER}\n\nURI: https://solana.com`,
    ],
    [
      { domain: 'solana.com', address: 'A', statement: 'S', uri: 'https://solana.com' },
      `${HEADER}\n\nS\n\nURI: https://solana.com`,
    ],
    // None of our challenges has a statement of several lines: the setting is a single line.
    [{ domain: 'solana.com', address: 'A', statement: 'S\n\nS' }, `${HEADER}\n\nS\n\nS`],
    [
      { domain: 'solana.com', address: 'A', statement: 'S\n\nS', uri: 'https://solana.com' },
      `${HEADER}\n\nS\n\nS\n\nURI: https://solana.com`,
    ],
  ];
  for (const [fields, text] of published) {
    it(`is as published with ${JSON.stringify(fields)}`, () => {
      expect(renderMessage(fields)).to.equal(text);
    });
    for (const field of Object.keys(fields)) {
      it(`is another with another ${field}, or without it, than ${JSON.stringify(fields)}`, () => {
        expect(renderMessage({ ...fields, [field]: 'B' })).not.to.equal(text);
        expect(renderMessage({ ...fields, [field]: undefined })).not.to.equal(text);
      });
    }
  }

  it('has its lines in the order of the format, without a line break at the end', () => {
    expect(messageOf(challenge, 'A', 'live')).to.equal(
      [
        'play.example wants you to sign in with your Solana account:',
        'A',
        '',
        'Sign in to play.',
        '',
        'URI: https://play.example',
        'Version: 1',
        'Chain ID: mainnet',
        'Nonce: 0123456789abcdef',
        'Issued At: 2026-03-01T12:00:00.000Z',
        'Expiration Time: 2026-03-01T12:05:00.000Z',
      ].join('\n'),
    );
  });

  // Source: the texts signed by the Ledgers below, rendered by @supabase/auth-js.
  it('has its lines in the order of auth-js where that has rendered it', () => {
    const fields = { domain: 'a', address: 'A', statement: 'S', uri: 'U', version: '1', issuedAt: 'I' };
    expect(
      renderMessage({ ...fields, expiresAt: 'E', chainId: 'C', nonce: 'N' }, AUTH_JS_ORDER).split('\n'),
    ).to.deep.equal([
      'a wants you to sign in with your Solana account:',
      'A',
      '',
      'S',
      '',
      'Version: 1',
      'URI: U',
      'Issued At: I',
      'Expiration Time: E',
      'Chain ID: C',
      'Nonce: N',
    ]);
  });

  it('names the chain of the environment', () => {
    expect(messageOf(challenge, 'A', 'test')).to.include('\nChain ID: devnet\n');
  });
});

const challenge: Challenge = {
  nonce: '0123456789abcdef',
  domain: 'play.example',
  statement: 'Sign in to play.',
  uri: 'https://play.example',
  issuedAt: '2026-03-01T12:00:00.000Z',
  expiresAt: '2026-03-01T12:05:00.000Z',
};

interface SignedVector {
  readonly domain: string;
  readonly lines: readonly string[];
  readonly signature: string;
}

// Source: supabase/auth, internal/api/web3_test.go.
const plain: readonly SignedVector[] = [
  {
    domain: 'supabase.com',
    lines: [
      '2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8',
      '',
      'Statement',
      '',
      'URI: https://supabase.com/',
      'Version: 1',
      'Issued At: 2025-03-29T00:00:00Z',
      'Expiration Time: 2025-03-29T00:10:00Z',
      'Not Before: 2025-03-29T00:00:00Z',
    ],
    signature: 'aiKn+PAoB1OoXxS8H34HrB456YD4sKAVjeTjsxgkaQy3bkdV51WBTmUUE9lBU9kuXr0hTLI+1aTn5TFRbIF8CA==',
  },
  {
    domain: 'localhost:5173',
    lines: [
      '4UPcfLX6rHuunkDiCnrVdN2BxnaKUAT1m2KCrzaAAct6',
      '',
      'Sign in on localhost',
      '',
      'URI: http://localhost:5173/',
      'Version: 1',
      'Issued At: 2025-05-16T14:52:03.613Z',
    ],
    signature: 'RT2JCFpZQtPwGONApGZn1dZnxOBB3zJZHAQPr+cOaI+eQ4ecw/N6zJ6TNw8a+g8n6Xm/Ky1TVZRuWHSxMU1jDg==',
  },
  {
    domain: 'supabase.com',
    lines: [
      '2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8',
      '',
      'Statement',
      '',
      'URI: https://supabase.com/',
      'Version: 1',
      'Issued At: 2025-03-29T00:00:00Z',
    ],
    signature: 'BQxBJ+g2xbMh0LqwYR4ULJ4l7jXFmz33urmp534MS0x7nrGRe2xYdFq41FiGrySX6RipzGqX4kS2vkQmi/+JCg==',
  },
];
const ledger: readonly SignedVector[] = [
  {
    domain: 'supabase.com',
    lines: [
      'EqzxWVyBpLD34SV9w1FFpPPvbfrfAXdiDVg1cyHTR1Rv',
      '',
      'I confirm ownership of this wallet',
      '',
      'Version: 1',
      'URI: https://supabase.com/',
      'Issued At: 2025-07-29T22:29:52.235Z',
    ],
    signature: '9slc0BBJw16TzWYs4/op8na3vt9E0CKt0FL5pqhzTDxvqF/txpbdo+ULDCeSzrDE/uJWmpMQw+hF0rkDj4Q0Bw==',
  },
  {
    domain: 'localhost:5173',
    lines: [
      'EqzxWVyBpLD34SV9w1FFpPPvbfrfAXdiDVg1cyHTR1Rv',
      '',
      'I confirm ownership of this wallet',
      '',
      'Version: 1',
      'URI: http://localhost:5173/',
      'Issued At: 2025-07-29T22:35:10.473Z',
    ],
    signature: '28d9ntDE8iPkxPvzg7A+8/6QFSq8FoPIdV4O5Or6nMDRFrEip/UJKIlLlKXM/SKUeLZmnTcc+V7Y6qnQymUDDg==',
  },
];

function parts({ domain, lines, signature }: SignedVector) {
  const key = publicKeyBytes(lines[0] ?? '');
  if (!key) throw new Error('The vector has no key.');
  const text = Buffer.from(`${domain} wants you to sign in with your Solana account:\n${lines.join('\n')}`);
  return { domain, key, text, signature: Buffer.from(signature, 'base64') };
}

describe('signatures of wallets, as published', () => {
  for (const [index, vector] of plain.entries()) {
    it(`plain ${index + 1} is over the text, and not over the envelope of a Ledger`, () => {
      const { domain, key, text, signature } = parts(vector);
      expect(isSignedBy(key, signature, [text])).to.equal(true);
      expect(isSignedBy(key, signature, [offchainEnvelope(text, { format: 0, domain, key })])).to.equal(
        false,
      );
    });
  }
  for (const [index, vector] of ledger.entries()) {
    it(`Ledger ${index + 1} is over the envelope, and not over the text`, () => {
      const { domain, key, text, signature } = parts(vector);
      expect(isSignedBy(key, signature, [offchainEnvelope(text, { format: 0, domain, key })])).to.equal(true);
      expect(isSignedBy(key, signature, [text])).to.equal(false);
    });
  }
  for (const [index, vector] of [...plain, ...ledger].entries()) {
    it(`vector ${index + 1} is refused with any one byte of text or signature altered`, () => {
      const { domain, key, text, signature } = parts(vector);
      const wrap = (bytes: Uint8Array) =>
        index < plain.length ? bytes : offchainEnvelope(bytes, { format: 0, domain, key });
      for (const at of text.keys()) {
        expect(isSignedBy(key, signature, [wrap(flipped(text, at))]), `text ${at}`).to.equal(false);
      }
      for (const at of signature.keys()) {
        expect(isSignedBy(key, flipped(signature, at), [wrap(text)]), `signature ${at}`).to.equal(false);
      }
    });
  }

  it('does not know another key', () => {
    const [first, second] = plain.map(parts);
    expect(first && second && isSignedBy(second.key, first.signature, [first.text])).to.equal(false);
  });

  it('refuses a signature to which the order of the group was added', () => {
    const { key, text, signature } = parts(plain[0] ?? { domain: '', lines: [], signature: '' });
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + order;
    const malleated = Buffer.concat([
      signature.subarray(0, 32),
      Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse(),
    ]);
    expect(isSignedBy(key, malleated, [text])).to.equal(false);
  });
});

describe('the envelope of a Ledger, as published', () => {
  const utf8 = 'Тестовое сообщение';
  const SIGNING = 'ff736f6c616e61206f6666636861696e';
  const hex = (text: string, header: EnvelopeHeader) =>
    Buffer.from(offchainEnvelope(Buffer.from(text), header)).toString('hex');
  const filled = (byte: number) => Buffer.alloc(32, byte);

  // Source: the tests of solana-sdk, sdk/src/offchain_message.rs (short), and of the crate solana-offchain-message
  // (long, with 32 bytes of zero as the application domain and as the signer).
  const published: readonly (readonly [string, string, EnvelopeHeader, string])[] = [
    ['short header, format 0', 'Test Message', { format: 0 }, `${SIGNING}00000c0054657374204d657373616765`],
    [
      'short header, format 1',
      utf8,
      { format: 1 },
      `${SIGNING}00012300d0a2d0b5d181d182d0bed0b2d0bed0b520d181d0bed0bed0b1d189d0b5d0bdd0b8d0b5`,
    ],
    [
      'no application domain, format 0',
      'Test Message',
      { format: 0, domain: '', key: filled(0) },
      `${SIGNING}00${'00'.repeat(32)}0001${'00'.repeat(32)}0c0054657374204d657373616765`,
    ],
    [
      'no application domain, format 1',
      utf8,
      { format: 1, domain: '', key: filled(0) },
      `${SIGNING}00${'00'.repeat(32)}0101${'00'.repeat(32)}2300d0a2d0b5d181d182d0bed0b2d0bed0b520d181d0bed0bed0b1d189d0b5d0bdd0b8d0b5`,
    ],
  ];
  for (const [title, text, header, bytes] of published) {
    it(`is the same, byte for byte: ${title}`, () => {
      expect(hex(text, header)).to.equal(bytes);
    });
  }

  // Source: LedgerHQ/device-sdk-ts, SendSignMessageTask.test.ts: the domain's bytes, then zeros.
  it('has the application domain at its place', () => {
    const envelope = offchainEnvelope(Buffer.from('hi'), {
      format: 1,
      domain: 'example.com',
      key: filled(0x11),
    });
    expect(Buffer.from(envelope.slice(17, 49)).toString()).to.equal('example.com'.padEnd(32, '\0'));
    expect([...envelope.slice(49, 51)]).to.deep.equal([1, 1]);
  });

  // Source: LedgerHQ, hw-app-solana, Solana.test.ts (a device); `solana sign-offchain-message testmessage`.
  for (const [title, key, text, signature] of [
    [
      'a Ledger',
      '5eb9862fe23e544a2a0969cc157cb31fd72901cc2824d536a67fb8ee911e0236',
      'Long Off-Chain Test Message.',
      'dd23d8f798aeb0085f97f3aae20e52866bf529e0d880959784ff0e91beaf6f2eb73b7b0ef484801399066b92561f6c523b27f9579e17d0f8106b33edc5f45b07',
    ],
    [
      'the command line of Solana',
      'c89e476874977dcaca32f66ffab10d4a5a89b6ae5a31ae68caf91d7967d25fe0',
      'testmessage',
      'b842f6f3ab7f0bf38abc3d0d822002c32e693e8fff7290952f7c0755d6f8a050bb8f35f66b7eeaecb16c4d441174d2794dc2866ce27b1da574d7d870e37d5a06',
    ],
  ] as const) {
    it(`under the short header is what ${title} has signed`, () => {
      const signed = offchainEnvelope(Buffer.from(text), { format: 0 });
      const [keyBytes, bytes] = [Buffer.from(key, 'hex'), Buffer.from(signature, 'hex')];
      expect(isSignedBy(keyBytes, bytes, [signed])).to.equal(true);
      expect(isSignedBy(keyBytes, bytes, [Buffer.from(text)])).to.equal(false);
    });
  }
});

describe('what a wallet may have signed', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const address = encodeBase58(key);
  const accepts = (message: Uint8Array) =>
    isSignedBy(key, sign(undefined, message, privateKey), signablesOf(challenge, address, key, 'live'));
  const text = (fields: Partial<MessageFields>) =>
    Buffer.from(renderMessage({ ...challenge, address, ...fields }));

  const envelopes: readonly (readonly [string, EnvelopeHeader])[] = ([0, 1] as const).flatMap((format) => [
    [`format ${format} with the domain`, { format, domain: challenge.domain, key }] as const,
    [`format ${format} without a domain`, { format, domain: '', key }] as const,
    [`format ${format} under the short header`, { format }] as const,
  ]);
  for (const [version, order] of [
    ['1', FORMAT_ORDER],
    [undefined, FORMAT_ORDER],
    ['1', AUTH_JS_ORDER],
  ] as const) {
    for (const chainId of ['mainnet', 'solana:mainnet', undefined]) {
      const message = Buffer.from(renderMessage({ ...challenge, address, version, chainId }, order));
      it(`may have version ${version} and chain ${chainId}, ${order[0]} first`, () => {
        expect(accepts(message)).to.equal(true);
      });
      for (const [title, header] of envelopes) {
        it(`may have version ${version} and chain ${chainId}, ${order[0]} first, in ${title}`, () => {
          expect(accepts(offchainEnvelope(message, header))).to.equal(true);
        });
      }
    }
  }

  const altered: Partial<Record<keyof MessageFields, string>> = {
    domain: 'evil.example',
    address: '2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8',
    statement: 'Sign in to pay.',
    uri: 'https://evil.example',
    version: '2',
    chainId: 'devnet',
    nonce: '0123456789abcdee',
    issuedAt: '2026-03-01T12:00:00.001Z',
    expiresAt: '2026-03-01T12:05:00.001Z',
  };
  for (const [field, value] of Object.entries(altered)) {
    it(`may not have another ${field}`, () => {
      expect(accepts(text({ version: '1', chainId: 'mainnet', [field]: value }))).to.equal(false);
    });
  }
  for (const field of ['statement', 'uri', 'nonce', 'issuedAt', 'expiresAt'] as const) {
    it(`may not lack the ${field}`, () => {
      expect(accepts(text({ version: '1', chainId: 'mainnet', [field]: undefined }))).to.equal(false);
    });
  }

  it('may not have the domain of another site in the envelope', () => {
    for (const format of [0, 1] as const) {
      expect(accepts(offchainEnvelope(text({}), { format, domain: 'evil.example', key }))).to.equal(false);
    }
  });

  it('may not name another key in the envelope', () => {
    const other = publicKeyBytes('2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8') ?? key;
    const header = { format: 0, domain: challenge.domain, key: other } as const;
    expect(accepts(offchainEnvelope(text({}), header))).to.equal(false);
  });

  it('may not be of another kind than the envelope says, or of a later version', () => {
    for (const [at, value] of [
      [16, 1],
      [49, 2],
      [50, 2],
    ] as const) {
      const envelope = Buffer.from(offchainEnvelope(text({}), { format: 0, domain: challenge.domain, key }));
      envelope[at] = value;
      expect(accepts(envelope), `byte ${at}`).to.equal(false);
    }
  });
});

function flipped(bytes: Uint8Array, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
