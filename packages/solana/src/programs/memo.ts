import type { Address } from '../port.ts';
import { MEMO_PROGRAM } from './ids.ts';
import { type Instruction, signer } from './instruction.ts';

/** Text in a transaction that everybody can read. */
export const memo = (text: string, signers: readonly Address[] = []): Instruction => ({
  programId: MEMO_PROGRAM,
  accounts: signers.map(signer),
  data: Buffer.from(text, 'utf8'),
});
