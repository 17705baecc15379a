/** What a mint says about its token, and whether a transfer of it means what the ledger assumes. */
import { encodeBase58 } from '@coffer/kernel';
import type { Address, ChainAccount } from '../port.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './ids.ts';
import { decodeExtensions, type ExtensionName } from './tokenExtensions.ts';

export interface Mint {
  readonly address: Address;
  readonly program: Address;
  readonly supply: bigint;
  readonly decimals: number;
  /** Who may mint more of it. */
  readonly mintAuthority: Address | null;
  /** Who may freeze any account of it, including the treasury's. */
  readonly freezeAuthority: Address | null;
  readonly extensions: readonly ExtensionName[];
}

const MINT_BYTES = 82;

/** Undefined unless the account is an initialized mint of a token program. */
export function decodeMint({ address, owner, data: bytes }: ChainAccount): Mint | undefined {
  const data = Buffer.from(bytes);
  if (owner !== TOKEN_PROGRAM && owner !== TOKEN_2022_PROGRAM) return undefined;
  const extensions = extensionsOf(owner, data);
  if (!extensions || data[45] !== 1) return undefined;

  return {
    address,
    program: owner,
    supply: data.readBigUInt64LE(36),
    decimals: data.readUInt8(44),
    mintAuthority: optionalAddress(data, 0),
    freezeAuthority: optionalAddress(data, 46),
    extensions,
  };
}

function extensionsOf(program: Address, data: Buffer): readonly ExtensionName[] | undefined {
  if (data.length === MINT_BYTES) return [];
  return program === TOKEN_2022_PROGRAM ? decodeExtensions(data, 'mint') : undefined;
}

/** An address preceded by a number that says whether there is one. */
export const optionalAddress = (data: Buffer, at: number): Address | null =>
  data.readUInt32LE(at) === 1 ? encodeBase58(data.subarray(at + 4, at + 36)) : null;

/** They say something about the token, but do not change what a transfer does. */
const HARMLESS: readonly ExtensionName[] = [
  'immutableOwner',
  'metadataPointer',
  'tokenMetadata',
  'groupPointer',
  'tokenGroup',
  'groupMemberPointer',
  'tokenGroupMember',
];

/**
 * Why a transfer of the mint's tokens might not permanently move the stated amount; undefined if it does.
 * Every extension that is not harmless is refused, including unknown ones: some let the issuer take, freeze
 * or burn what players own, some credit less than was sent, some run foreign code, and some hide or scale the
 * amounts.
 */
export function mintProblem(mint: Mint | undefined, decimals: number): string | undefined {
  if (!mint) return 'There is no such mint.';
  if (mint.decimals !== decimals) return `The mint has ${mint.decimals} decimals.`;
  const harmful = mint.extensions.filter((extension) => !HARMLESS.includes(extension));
  return harmful.length > 0 ? `The mint has ${harmful.join(', ')}.` : undefined;
}
