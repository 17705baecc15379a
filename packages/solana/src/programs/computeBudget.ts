/** How much a transaction may compute, and what it offers for it beyond the fee of its signatures. */
import { COMPUTE_BUDGET_PROGRAM } from './ids.ts';
import { type Instruction, u32, u64 } from './instruction.ts';

const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;

export const setComputeUnitLimit = (units: number): Instruction => ({
  programId: COMPUTE_BUDGET_PROGRAM,
  accounts: [],
  data: Buffer.concat([Uint8Array.of(SET_UNIT_LIMIT), u32(units)]),
});

/** The priority fee is price times limit: what is used instead of the limit plays no part. */
export const setComputeUnitPrice = (microLamports: bigint): Instruction => ({
  programId: COMPUTE_BUDGET_PROGRAM,
  accounts: [],
  data: Buffer.concat([Uint8Array.of(SET_UNIT_PRICE), u64(microLamports)]),
});
