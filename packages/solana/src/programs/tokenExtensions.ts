/**
 * Extensions of Token-2022 accounts: each is a type, a length and that many bytes, after the base of the
 * account.
 */
import type { Address } from '../port.ts';
import { TOKEN_2022_PROGRAM } from './ids.ts';

/** Indexed by type number. The names are from the program's source, in camel case. */
const EXTENSION_NAMES = [
  'uninitialized',
  'transferFeeConfig',
  'transferFeeAmount',
  'mintCloseAuthority',
  'confidentialTransferMint',
  'confidentialTransferAccount',
  'defaultAccountState',
  'immutableOwner',
  'memoTransfer',
  'nonTransferable',
  'interestBearingConfig',
  'cpiGuard',
  'permanentDelegate',
  'nonTransferableAccount',
  'transferHook',
  'transferHookAccount',
  'confidentialTransferFeeConfig',
  'confidentialTransferFeeAmount',
  'metadataPointer',
  'tokenMetadata',
  'groupPointer',
  'tokenGroup',
  'groupMemberPointer',
  'tokenGroupMember',
  'confidentialMintBurn',
  'scaledUiAmount',
  'pausable',
  'pausableAccount',
  'permissionedBurn',
] as const;

/** `unknown:<number>` for one that is not in our list. */
export type ExtensionName = (typeof EXTENSION_NAMES)[number] | `unknown:${number}`;

/** The base of mints is padded to the size of accounts, so that the type of both is at the same offset. */
export const TOKEN_ACCOUNT_BYTES = 165;
const FIRST_EXTENSION = TOKEN_ACCOUNT_BYTES + 1;

/**
 * An associated account of a mint without extensions: a Token-2022 account has one of its own,
 * immutableOwner.
 */
export const newTokenAccountBytes = (program: Address): number =>
  program === TOKEN_2022_PROGRAM ? FIRST_EXTENSION + 4 : TOKEN_ACCOUNT_BYTES;
/** No account with extensions has this length: it would be mistaken for a multisig. */
const MULTISIG_BYTES = 355;

export const ACCOUNT_TYPES = { mint: 1, account: 2 } as const;

/**
 * The extensions in data longer than its base; undefined if it is of another type, or cannot be read to its
 * end.
 */
export function decodeExtensions(
  data: Buffer,
  type: keyof typeof ACCOUNT_TYPES,
): readonly ExtensionName[] | undefined {
  if (data.length < FIRST_EXTENSION || data.length === MULTISIG_BYTES) return undefined;
  if (data[TOKEN_ACCOUNT_BYTES] !== ACCOUNT_TYPES[type]) return undefined;

  const names: ExtensionName[] = [];
  let at = FIRST_EXTENSION;
  while (at + 2 <= data.length) {
    const number = data.readUInt16LE(at);
    // The rest is unused space, for the program as well.
    if (number === 0) return names;
    if (at + 4 > data.length) return undefined;
    at += 4 + data.readUInt16LE(at + 2);
    if (at > data.length) return undefined;
    names.push(EXTENSION_NAMES[number] ?? `unknown:${number}`);
  }
  return names;
}
