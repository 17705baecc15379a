import type { Address } from '../port.ts';
import { SYSTEM_PROGRAM } from './ids.ts';
import { type Instruction, u32, u64, writable, writableSigner } from './instruction.ts';

const TRANSFER = 2;

export const systemTransfer = (transfer: {
  readonly from: Address;
  readonly to: Address;
  readonly lamports: bigint;
}): Instruction => ({
  programId: SYSTEM_PROGRAM,
  accounts: [writableSigner(transfer.from), writable(transfer.to)],
  data: Buffer.concat([u32(TRANSFER), u64(transfer.lamports)]),
});
