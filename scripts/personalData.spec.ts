/**
 * The log is for ever and goes to Kafka: no event has a field for personal data. A new field of free text is added to one of
 * these lists by whoever can say why it holds none. Source: ADR 0016.
 */
import { expect } from 'chai';
import { schemasInCode } from './schemas/files.ts';

const WHAT_TEXTS_HOLD: Readonly<Record<string, readonly string[]>> = {
  'our ids': [
    ...[
      'appId',
      'betTransactionUuid',
      'eventId',
      'identityId',
      'moveId',
      'moveOwnerId',
      'newWalletId',
      'ownerId',
    ],
    ...['referrerUserId', 'sessionId', 'sourceUserId', 'stream', 'transactionUuid', 'userId', 'walletId'],
  ],
  'names that our code gives': ['consumer', 'eventType'],
  'a keyed hash': ['identityHash', 'request'],
  'what is public on the chain': [
    ...['address', 'blockhash', 'feePayer', 'mint', 'newAddress', 'signature', 'toAddress', 'transaction'],
  ],
  'amounts and times': ['confirmBy', 'currency', 'lockedAt', 'openedAt', 'settledAt'],
  'ids and codes of callers, who are told that they are kept for ever': [
    ...[
      'betId',
      'code',
      'gameCode',
      'gameKey',
      'idemKey',
      'idempotencyKey',
      'key',
      'ref',
      'referralCode',
      'roundId',
    ],
  ],
  'remarks of callers, who are told so too': ['memo', 'note', 'reason'],
};

describe('the data of all events', () => {
  it('has no free text in which personal data belongs', () => {
    const names = new Set<string>();
    for (const { schema } of schemasInCode()) collectTexts(schema, '', names);
    expect([...names].sort()).to.deep.equal(Object.values(WHAT_TEXTS_HOLD).flat().sort());
  });
});

/** The names of fields whose text is neither one of a few nor of a given form. */
function collectTexts(schema: unknown, name: string, found: Set<string>): void {
  if (Array.isArray(schema)) for (const one of schema) collectTexts(one, name, found);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
  const { type, properties, ...rest } = schema as Readonly<Record<string, unknown>>;
  if (type === 'string' && !('enum' in rest || 'const' in rest || 'format' in rest || 'pattern' in rest))
    found.add(name);
  for (const [field, inner] of Object.entries(properties ?? {})) collectTexts(inner, field, found);
  for (const inner of Object.values(rest)) collectTexts(inner, name, found);
}
