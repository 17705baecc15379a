/** An instruction before it is compiled into a message. */
import type { Address } from '../port.ts';

export interface AccountMeta {
  readonly address: Address;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

export interface Instruction {
  readonly programId: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

export const readonly = (address: Address): AccountMeta => ({ address, isSigner: false, isWritable: false });
export const writable = (address: Address): AccountMeta => ({ address, isSigner: false, isWritable: true });
export const signer = (address: Address): AccountMeta => ({ address, isSigner: true, isWritable: false });
export const writableSigner = (address: Address): AccountMeta => ({
  address,
  isSigner: true,
  isWritable: true,
});

/** Little-endian. Throws a `RangeError` for a value that does not fit, instead of sending another amount. */
export function u64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

export function u32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
