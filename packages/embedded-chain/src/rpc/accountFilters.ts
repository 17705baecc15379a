/** Which accounts of a program a caller wants. */
import { decodeBase58 } from '@coffer/kernel';
import { tokenAccountOf } from '../tokens.ts';
import type { AccountState } from '../vm.ts';
import { invalidParams } from './errors.ts';
import type { AccountFilter, Settings } from './params.ts';

const MAXIMUM_FILTERS = 4;
const MAXIMUM_BYTES = 128;
/** This many digits hold that many bytes; more would take long to decode. */
const MAXIMUM_BASE58_DIGITS = 175;

export function accountFilter({ filters }: Settings): (state: AccountState) => boolean {
  const given = filters ?? [];
  if (given.length > MAXIMUM_FILTERS) {
    throw invalidParams(`Too many filters provided; max ${MAXIMUM_FILTERS}`);
  }
  const tests = given.map(testOf);
  return (state) => tests.every((test) => test(state));
}

function testOf(filter: AccountFilter): (state: AccountState) => boolean {
  if (filter === 'tokenAccountState') return (state) => tokenAccountOf(state) !== undefined;
  if ('dataSize' in filter) return ({ data }) => BigInt(data.length) === filter.dataSize;
  const wanted = bytesOf(filter.memcmp);
  const { offset } = filter.memcmp;
  return ({ data }) => {
    if (offset + BigInt(wanted.length) > BigInt(data.length)) return false;
    const at = Number(offset);
    return Buffer.compare(data.subarray(at, at + wanted.length), wanted) === 0;
  };
}

type Memcmp = Extract<AccountFilter, { memcmp: unknown }>['memcmp'];

function bytesOf({ bytes, encoding }: Memcmp): Uint8Array {
  const decoded = typeof bytes === 'string' ? decode(bytes, encoding ?? 'base58') : Buffer.from(bytes);
  if (!decoded) throw invalidParams('Invalid param: DecodeError');
  if (decoded.length > MAXIMUM_BYTES) throw invalidParams('Invalid param: DataTooLarge');
  return decoded;
}

function decode(text: string, encoding: 'base58' | 'base64'): Uint8Array | undefined {
  if (encoding === 'base58') {
    if (text.length > MAXIMUM_BASE58_DIGITS) throw invalidParams('Invalid param: DataTooLarge');
    return decodeBase58(text);
  }
  const decoded = Buffer.from(text, 'base64');
  return decoded.toString('base64') === text ? decoded : undefined;
}
