/** What goes wrong between a client and a cluster, on purpose. Nothing does unless a spec asks for it. */
import { z } from 'zod';
import type { Ledger } from './ledger/ledger.ts';
import type { WireTransaction } from './wire.ts';

/** How many calls it affects; `always` until cleared. Default: 1. */
const times = z.union([z.int().min(1), z.literal('always')]).default(1);
const slots = z.int().min(1);

export const faultSchema = z.discriminatedUnion('kind', [
  /** The node takes the transaction, which lands nowhere. With `always` it expires, however often it is sent. */
  z.strictObject({ kind: z.literal('dropSend'), times }),
  /** It lands this many slots later, if it still can. */
  z.strictObject({ kind: z.literal('delayLanding'), slots, times }),
  /** The call does its work, but the caller does not get the answer. */
  z.strictObject({
    kind: z.literal('loseAnswer'),
    method: z.string().default('sendTransaction'),
    how: z.enum(['never', 'reset', '500', '503']),
    times,
  }),
  /** What was processed before is accepted again, as by a node that does not know it. It lands once. */
  z.strictObject({ kind: z.literal('acceptDuplicate'), times }),
  /** The node is this many slots behind, until cleared. */
  z.strictObject({ kind: z.literal('lag'), slots }),
  /** The block height stays where it is until cleared; everything else continues. */
  z.strictObject({ kind: z.literal('freezeHeight') }),
  /** The node has discarded what is in blocks up to now; it still knows the statuses, or not. Until cleared. */
  z.strictObject({ kind: z.literal('prune'), statuses: z.enum(['kept', 'forgotten']).default('kept') }),
  /** Nothing is answered, until cleared. */
  z.strictObject({ kind: z.literal('down'), how: z.enum(['reset', '503']) }),
]);

export type Fault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;
type Lost = Extract<Fault, { kind: 'loseAnswer' }>['how'];

/** The answer must not reach the caller. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost';
  readonly how: Lost;

  constructor(how: Lost) {
    super(`the answer is lost: ${how}`);
    this.how = how;
  }
}

/** For making calls go wrong at random, and counting the effects. */
export interface FaultObserver {
  /** Just before the method does its work: what is injected here affects that very call. */
  readonly beforeCall?: ((method: string) => void) | undefined;
  /** A fault has changed what a call did or was answered with. */
  readonly onEffect?: ((kind: Fault['kind']) => void) | undefined;
}

export type Faults = ReturnType<typeof createFaults>;

export function createFaults(ledger: Ledger, { beforeCall, onEffect }: FaultObserver = {}) {
  let armed: readonly Fault[] = [];
  let frozenAt: bigint | undefined;
  let keptFrom = 0n;

  const find = <K extends Fault['kind']>(kind: K) =>
    armed.find((fault): fault is Extract<Fault, { kind: K }> => fault.kind === kind);
  const take = (fault: Fault) => {
    onEffect?.(fault.kind);
    if (!('times' in fault) || fault.times === 'always') return;
    const rest = fault.times - 1;
    armed = armed.flatMap((other) =>
      other !== fault ? [other] : rest > 0 ? [{ ...fault, times: rest }] : [],
    );
  };
  const tip = () => ledger.tip() - BigInt(find('lag')?.slots ?? 0);

  return {
    inject(input: FaultInput): void {
      const fault = faultSchema.parse(input);
      if (fault.kind === 'freezeHeight') frozenAt = ledger.tip();
      if (fault.kind === 'prune') keptFrom = ledger.tip() + 1n;
      armed = [...armed, fault];
    },
    clear(): void {
      armed = [];
      frozenAt = undefined;
      keptFrom = 0n;
    },
    /** The newest slot that the node knows. */
    tip,
    slotsBehind: () => find('lag')?.slots ?? 0,
    /** The newest slot whose block determines the height. */
    heightTip: () => frozenAt ?? tip(),
    /** The first slot whose transactions the node holds. */
    keptFrom: () => keptFrom,
    /** The first slot whose transactions' statuses it knows. */
    statusesFrom: () => (find('prune')?.statuses === 'forgotten' ? keptFrom : 0n),
    /** Before each call does its work. */
    enter(method: string): void {
      beforeCall?.(method);
      // These change every answer.
      for (const { kind } of armed) if (kind === 'lag' || kind === 'freezeHeight') onEffect?.(kind);
    },
    land(wire: WireTransaction): void {
      // What is already in a block is neither dropped nor late.
      if (ledger.status(wire.signature)) return;
      const drop = find('dropSend');
      const delay = find('delayLanding');
      if (drop) take(drop);
      else if (delay) {
        take(delay);
        ledger.landLater(wire, ledger.tip() + BigInt(delay.slots));
      } else ledger.land(wire);
    },
    takeDuplicate(): boolean {
      const fault = find('acceptDuplicate');
      if (fault) take(fault);
      return fault !== undefined;
    },
    /** Throws if the answer of the method, which is done, is to be lost. */
    loseAnswer(method: string): void {
      const fault = armed.find((other) => other.kind === 'loseAnswer' && other.method === method);
      if (fault?.kind !== 'loseAnswer') return;
      take(fault);
      throw new AnswerLost(fault.how);
    },
    outage() {
      const fault = find('down');
      if (fault) onEffect?.('down');
      return fault?.how;
    },
  };
}
