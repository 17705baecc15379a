/** What a transaction pays: per signature, and for its priority per compute unit. */
import type { Message } from '../wire.ts';

const LAMPORTS_PER_SIGNATURE = 5000n;
const MICRO_LAMPORTS = 1_000_000n;
const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111';
const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;
const UNITS_PER_INSTRUCTION = 200_000n;
/** For programs that are part of the runtime. */
const UNITS_PER_BUILTIN_INSTRUCTION = 3_000n;
const MAXIMUM_UNITS = 1_400_000n;
const BUILTIN_PROGRAMS: readonly (string | undefined)[] = [
  '11111111111111111111111111111111',
  COMPUTE_BUDGET_PROGRAM,
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
];
/** Their instructions carry their own signatures. */
const SIGNATURE_PROGRAMS: readonly (string | undefined)[] = [
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
];

export function feeOf(message: Message): bigint {
  const { staticKeys, instructions, requiredSignatures } = message;
  let signatures = BigInt(requiredSignatures);
  let units = 0n;
  let limit: bigint | undefined;
  let price = 0n;
  for (const { programIndex, data } of instructions) {
    const program = staticKeys[programIndex];
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    if (SIGNATURE_PROGRAMS.includes(program)) signatures += BigInt(data[0] ?? 0);
    if (program === COMPUTE_BUDGET_PROGRAM && data[0] === SET_UNIT_LIMIT && data.length >= 5) {
      limit = BigInt(view.getUint32(1, true));
    }
    if (program === COMPUTE_BUDGET_PROGRAM && data[0] === SET_UNIT_PRICE && data.length >= 9) {
      price = view.getBigUint64(1, true);
    }
    units += BUILTIN_PROGRAMS.includes(program) ? UNITS_PER_BUILTIN_INSTRUCTION : UNITS_PER_INSTRUCTION;
  }
  const asked = limit ?? units;
  const paid = asked < MAXIMUM_UNITS ? asked : MAXIMUM_UNITS;
  const priority = (paid * price + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS;
  return signatures * LAMPORTS_PER_SIGNATURE + priority;
}

/** Micro-lamports per compute unit that it offers. */
export function unitPriceOf({ staticKeys, instructions }: Message): bigint {
  for (const { programIndex, data } of instructions) {
    if (staticKeys[programIndex] !== COMPUTE_BUDGET_PROGRAM || data[0] !== SET_UNIT_PRICE) continue;
    if (data.length >= 9) return new DataView(data.buffer, data.byteOffset).getBigUint64(1, true);
  }
  return 0n;
}

const RECENT_SLOTS = 150n;

interface OfferedPrice {
  readonly slot: bigint;
  readonly unitPrice: bigint;
  readonly written: readonly string[];
}

/** What was offered lately; a node that has just started knows nothing of it. */
export function createRecentFees() {
  let offers: OfferedPrice[] = [];
  return {
    add(offer: OfferedPrice): void {
      // Once a slot: there may be thousands in each.
      if (offers.at(-1)?.slot !== offer.slot) {
        offers = offers.filter(({ slot }) => slot > offer.slot - RECENT_SLOTS);
      }
      offers.push(offer);
    },
    drop(firstSlot: bigint): void {
      offers = offers.filter(({ slot }) => slot < firstSlot);
    },
    upto(tip: bigint, written: readonly string[]) {
      const lowest = new Map<bigint, bigint>();
      for (const offer of offers) {
        if (!written.every((address) => offer.written.includes(address))) continue;
        const other = lowest.get(offer.slot);
        if (other === undefined || offer.unitPrice < other) lowest.set(offer.slot, offer.unitPrice);
      }
      return Array.from({ length: Number(RECENT_SLOTS) }, (_, index) => {
        const slot = tip - RECENT_SLOTS + BigInt(index) + 1n;
        return { slot, prioritizationFee: lowest.get(slot) ?? 0n };
      });
    },
  };
}
