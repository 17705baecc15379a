/**
 * What an instruction says, if known for certain: each list names what is known, so anything else counts as
 * unknown.
 */
import type { Address } from '../port.ts';
import {
  type AssociatedTokenInstruction,
  type ComputeBudgetInstruction,
  decodeAssociatedToken,
  decodeComputeBudget,
  decodeLookupTable,
  decodeMemo,
  type LookupTableInstruction,
  type MemoInstruction,
} from './decodeSmallPrograms.ts';
import { decodeSystem, type SystemInstruction } from './decodeSystem.ts';
import { decodeToken, type TokenInstruction } from './decodeToken.ts';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from './ids.ts';
import { LOOKUP_TABLE_PROGRAM, MEMO_V1_PROGRAM } from './inspectedIds.ts';
import type { InstructionContent } from './readInstruction.ts';

export type DecodedInstruction =
  | SystemInstruction
  | TokenInstruction
  | AssociatedTokenInstruction
  | ComputeBudgetInstruction
  | MemoInstruction
  | LookupTableInstruction
  /** To a program whose instructions we read, but none of those that we know. */
  | { readonly program: 'unread'; readonly programId: Address }
  /** To any other program. */
  | { readonly program: 'foreign'; readonly programId: Address };

const DECODERS: ReadonlyMap<Address, (content: InstructionContent) => DecodedInstruction | undefined> =
  new Map<Address, (content: InstructionContent) => DecodedInstruction | undefined>([
    [SYSTEM_PROGRAM, decodeSystem],
    [TOKEN_PROGRAM, decodeToken],
    [TOKEN_2022_PROGRAM, decodeToken],
    [ASSOCIATED_TOKEN_PROGRAM, decodeAssociatedToken],
    [COMPUTE_BUDGET_PROGRAM, decodeComputeBudget],
    [MEMO_PROGRAM, decodeMemo],
    [MEMO_V1_PROGRAM, decodeMemo],
    [LOOKUP_TABLE_PROGRAM, decodeLookupTable],
  ]);

export function decodeInstruction(content: InstructionContent): DecodedInstruction {
  const { programId } = content;
  const decode = DECODERS.get(programId);
  if (!decode) return { program: 'foreign', programId };
  return decode(content) ?? { program: 'unread', programId };
}
