/** The chain itself: slots, blockhashes, what lands in a block, how it becomes final, and how it may be taken back. */
import { tokenAccountOf } from '../tokens.ts';
import type { AccountState, SimulatedExecution, Vm } from '../vm.ts';
import { addressBytes } from '../vm.ts';
import type { Message, WireTransaction } from '../wire.ts';
import { accountsOf } from './accountsOf.ts';
import { createBlockhashes, MAXIMUM_BLOCKHASH_AGE } from './blockhashes.ts';
import { createBlockTimes } from './blockTimes.ts';
import { createExecution, type Landing } from './execution.ts';
import { createRecentFees } from './fees.ts';
import { createPastAccounts } from './pastAccounts.ts';
import { FIRST_SLOT, heightOf, type Slots } from './slots.ts';
import type { Store, StoredTransaction } from './store.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

export interface Finality {
  /** Slots after its own until a block is confirmed. */
  readonly confirmedAfter: number;
  readonly finalizedAfter: number;
}

export type Ledger = ReturnType<typeof createLedger>;

export interface LedgerOptions {
  readonly store: Store;
  readonly vm: Vm;
  readonly slots: Slots;
  /** 0 if they are advanced by hand. */
  readonly slotMs: number;
  readonly finality: Finality;
  readonly genesis: Uint8Array;
}

export function createLedger({ store, vm, slots, slotMs, finality, genesis }: LedgerOptions) {
  const blockhashes = createBlockhashes(genesis, store.forks());
  const recentFees = createRecentFees();
  const times = createBlockTimes({ marks: store.timeMarks(), slotMs, keep: store.keepTimeMark });
  times.mark(slots.now());
  const { accountAt, accountsWhere } = createPastAccounts(store, vm);

  const slotAt = (commitment: Commitment, newest: bigint): bigint => {
    const behind = { processed: 0, confirmed: finality.confirmedAfter, finalized: finality.finalizedAfter };
    const slot = newest - BigInt(behind[commitment]);
    return slot < FIRST_SLOT ? FIRST_SLOT : slot;
  };

  const { tip, execute, landLater, lifetimeOf, setScene } = createExecution({
    store,
    vm,
    slots,
    blockhashes,
    times,
    recentFees,
    finalSlotOf: (newest) => slotAt('finalized', newest),
  });

  return {
    tip,
    /** The newest slot with that commitment, for a node whose newest slot is `tip`. */
    slotAt,
    commitmentOf(slot: bigint, newest: bigint): Commitment {
      if (slot <= slotAt('finalized', newest)) return 'finalized';
      return slot <= slotAt('confirmed', newest) ? 'confirmed' : 'processed';
    },
    blockhashAt: (slot: bigint) => ({
      blockhash: blockhashes.at(slot),
      lastValidBlockHeight: heightOf(slot) + MAXIMUM_BLOCKHASH_AGE,
    }),
    /** Whether a block after `slot` accepts the message: for its blockhash, or for a nonce as of then. */
    isInTime: (message: Message, slot: bigint) =>
      lifetimeOf(message, slot, slot, (address) => accountAt(address, slot)) !== undefined,
    /** Whether the block of `slot` accepts a transaction with this blockhash. */
    isUsable: (blockhash: string, slot: bigint) => blockhashes.isUsable(blockhash, slot, tip()),
    accountAt,
    programAccounts: (program: string, slot: bigint) =>
      accountsWhere(store.accountsOf(program), ({ owner }) => owner === program, slot),
    tokenAccountsOfMint(mint: string, slot: bigint) {
      const isOfMint = (state: AccountState) => tokenAccountOf(state)?.mint === mint;
      return accountsWhere(store.accountsOfMint(addressBytes(mint)), isOfMint, slot);
    },
    tokenAccountsOfDelegate(delegate: string, slot: bigint) {
      const isOfDelegate = (state: AccountState) => tokenAccountOf(state)?.delegate === delegate;
      return accountsWhere(store.accountsOfDelegate(addressBytes(delegate)), isOfDelegate, slot);
    },
    /** In all accounts. Fees are burnt, so it falls. */
    totalLamports(slot: bigint): bigint {
      const lamports = (state: AccountState | undefined) => state?.lamports ?? 0n;
      return store
        .changedAfter(slot)
        .reduce(
          (sum, address) => sum - lamports(vm.account(address)) + lamports(accountAt(address, slot)),
          store.totalLamports(),
        );
    },
    tokenAccountsOf: (owner: string) => store.tokenAccountsOf(owner),
    rentMinimum: vm.rentMinimum,
    slotMs,

    land: (wire: WireTransaction): Landing => execute(wire, tip()),
    landLater,

    /** As if it were in the block after `slot`; nothing is recorded. */
    simulate(wire: WireTransaction, slot: bigint, verifySignatures: boolean): SimulatedExecution {
      const accounts = accountsOf(wire.message, (address) => accountAt(address, slot));
      const named = [...(accounts?.all ?? []), ...wire.message.lookups.map(({ table }) => table)];
      const later = named.flatMap((address) => {
        const earlier = store.accountBefore(address, slot);
        return earlier ? [{ address, past: earlier.state, present: vm.account(address) }] : [];
      });
      setScene(wire.message, tip());
      for (const { address, past } of later) vm.setAccount(address, past);
      try {
        return vm.simulate(wire.bytes, verifySignatures);
      } finally {
        for (const { address, present } of later) vm.setAccount(address, present);
      }
    },
    accountsOf: (message: Message, slot: bigint) =>
      accountsOf(message, (address) => accountAt(address, slot)),

    status: (signature: string): StoredTransaction | undefined => store.status(signature),
    transaction: (signature: string) => store.transaction(signature),
    transactionsIn: store.transactionsIn,
    newestSequence: store.newestSequence,
    transactionsAfter: store.transactionsAfter,
    blockTimeSeconds: (slot: bigint) =>
      store.blockTimeIn(slot) ?? times.secondsAt(slot < FIRST_SLOT ? FIRST_SLOT : slot),
    countsFrom: store.countsFrom,
    transactionsNaming: store.transactionsNaming,
    transactionCount: store.transactionCount,
    /** The lowest price per compute unit by slot, among transactions that wrote all these accounts. */
    recentFees: (written: readonly string[]) => recentFees.upto(tip(), written),

    /**
     * Replaces the blocks from `firstSlot` on with empty ones. Returns the transactions that were in them, which no
     * node holds any longer: whoever has them may send them again.
     */
    fork(firstSlot: bigint): readonly Uint8Array[] {
      const now = tip();
      if (firstSlot <= slotAt('finalized', now)) throw new RangeError(`slot ${firstSlot} is final`);
      const { restored, dropped } = store.fork(firstSlot, now);
      for (const [address, state] of restored) vm.setAccount(address, state);
      blockhashes.fork({ firstSlot, lastSlot: now });
      recentFees.drop(firstSlot);
      return dropped;
    },

    /** Sets what no transaction made: a mint, the faucet's funds. Stored only if it does not exist yet. */
    ensureAccount(address: string, state: AccountState): void {
      if (vm.account(address)) return;
      vm.setAccount(address, state);
      store.keepAccount(address, state);
    },
    durable: () => store.durable(),
  };
}
