/** Parameters of calls, read as a node reads them: unknown settings are ignored, wrong ones are refused. */

import { decodeBase58, decodeBase58Address } from '@coffer/kernel';
import { z } from 'zod';
import { invalidParams } from './errors.ts';

const commitment = z.enum(['processed', 'confirmed', 'finalized']);
const U64_MAX = 2n ** 64n - 1n;
const u64 = z
  .union([z.int(), z.bigint()])
  .transform((value) => BigInt(value))
  .refine((value) => value >= 0n && value <= U64_MAX, 'is not a u64');

const filter = z.union([
  z.object({ dataSize: u64 }),
  z.object({
    memcmp: z.object({
      offset: u64,
      bytes: z.union([z.string(), z.array(z.int().min(0).max(255))]),
      encoding: z.enum(['base58', 'base64']).nullish(),
    }),
  }),
  /** Whether it is a token account at all. */
  z.literal('tokenAccountState'),
]);
export type AccountFilter = z.infer<typeof filter>;

const settings = z.object({
  commitment: commitment.nullish(),
  preflightCommitment: commitment.nullish(),
  minContextSlot: u64.nullish(),
  encoding: z.enum(['base58', 'base64', 'base64+zstd', 'json', 'jsonParsed', 'binary']).nullish(),
  dataSlice: z.object({ offset: z.int().min(0), length: z.int().min(0) }).nullish(),
  filters: z.array(filter).nullish(),
  withContext: z.boolean().nullish(),
  sortResults: z.boolean().nullish(),
  excludeNonCirculatingAccountsList: z.boolean().nullish(),
  skipPreflight: z.boolean().nullish(),
  sigVerify: z.boolean().nullish(),
  replaceRecentBlockhash: z.boolean().nullish(),
  innerInstructions: z.boolean().nullish(),
  accounts: z
    .object({
      addresses: z.array(z.string()),
      encoding: z.enum(['base64', 'base64+zstd', 'jsonParsed']).nullish(),
    })
    .nullish(),
  transactionDetails: z.enum(['full', 'accounts', 'signatures', 'none']).nullish(),
  rewards: z.boolean().nullish(),
  searchTransactionHistory: z.boolean().nullish(),
  maxSupportedTransactionVersion: z.int().min(0).max(255).nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  before: z.string().nullish(),
  until: z.string().nullish(),
  mint: z.string().nullish(),
  programId: z.string().nullish(),
  votePubkey: z.string().nullish(),
});

export type Settings = z.infer<typeof settings>;
export type Encoding = NonNullable<Settings['encoding']>;

export class Params {
  readonly #list: readonly unknown[];

  constructor(list: readonly unknown[]) {
    this.#list = list;
  }

  value(index: number): unknown {
    return this.#list[index];
  }

  string(index: number): string {
    const value = this.#list[index];
    if (typeof value !== 'string')
      throw invalidParams(`Invalid params: parameter ${index + 1} must be a string`);
    return value;
  }

  address(index: number): string {
    return asAddress(this.string(index));
  }

  strings(index: number, limit: number): readonly string[] {
    const value = this.#list[index] ?? [];
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw invalidParams(`Invalid params: parameter ${index + 1} must be a list of strings`);
    }
    if (value.length > limit) throw invalidParams(`Too many inputs provided; max ${limit}`);
    return value;
  }

  addresses(index: number, limit: number): readonly string[] {
    return this.strings(index, limit).map(asAddress);
  }

  u64(index: number): bigint {
    return read(u64, this.#list[index], `parameter ${index + 1}`);
  }

  optionalU64(index: number): bigint | undefined {
    return this.#list[index] === undefined || this.#list[index] === null ? undefined : this.u64(index);
  }

  /** For methods that accept an encoding in place of the settings, as all once did. */
  encodingSettings(index: number): Settings {
    const value = this.#list[index];
    return typeof value === 'string'
      ? read(settings, { encoding: value }, `parameter ${index + 1}`)
      : this.settings(index);
  }

  settings(index: number): Settings {
    return read(settings, this.#list[index] ?? {}, `parameter ${index + 1}`);
  }
}

export function asAddress(text: string): string {
  if (!decodeBase58Address(text)) throw invalidParams('Invalid param: WrongSize');
  return text;
}

export function asSignature(text: string): string {
  if (text.length > 88 || decodeBase58(text)?.length !== 64) throw invalidParams('Invalid param: WrongSize');
  return text;
}

function read<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidParams(`Invalid params: ${[name, ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
}
