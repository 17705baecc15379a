/** All accounts that a message names: its own keys, then those it looks up, the writable before the read-only. */
import { encodeBase58 } from '@coffer/kernel';
import type { AccountState } from '../vm.ts';
import type { Lookup, Message } from '../wire.ts';

export const LOOKUP_TABLE_PROGRAM = 'AddressLookupTab1e1111111111111111111111111';
const TABLE_HEADER_BYTES = 56;
const KEY_BYTES = 32;

export interface NamedAccounts {
  readonly all: readonly string[];
  readonly loaded: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
}

/** Undefined if a table lacks what the message looks up. The machine then says why. */
export function accountsOf(
  message: Message,
  account: (address: string) => AccountState | undefined,
): NamedAccounts | undefined {
  const writable: string[] = [];
  const readonly: string[] = [];
  for (const lookup of message.lookups) {
    const table = account(lookup.table);
    if (table?.owner !== LOOKUP_TABLE_PROGRAM) return undefined;
    const found = {
      writable: entriesOf(table, lookup.writable),
      readonly: entriesOf(table, lookup.readonly),
    };
    if (!found.writable || !found.readonly) return undefined;
    writable.push(...found.writable);
    readonly.push(...found.readonly);
  }
  return { all: [...message.staticKeys, ...writable, ...readonly], loaded: { writable, readonly } };
}

function entriesOf(table: AccountState, indexes: Lookup['writable']): readonly string[] | undefined {
  const entries = indexes.map((index) => {
    const at = TABLE_HEADER_BYTES + index * KEY_BYTES;
    return table.data.subarray(at, at + KEY_BYTES);
  });
  return entries.every((entry) => entry.length === KEY_BYTES) ? entries.map(encodeBase58) : undefined;
}
