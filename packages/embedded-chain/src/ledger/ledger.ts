/** The chain itself: slots, blockhashes, what lands in a block, how it becomes final, and how it may be taken back. */
import { writeJson } from '../json.ts';
import { tokenAccountOf } from '../tokens.ts';
import type { TransactionError } from '../transactionError.ts';
import type { AccountState, SimulatedExecution, Vm } from '../vm.ts';
import { addressBytes } from '../vm.ts';
import { isWritable, type Message, type WireTransaction } from '../wire.ts';
import { accountsOf, LOOKUP_TABLE_PROGRAM } from './accountsOf.ts';
import { createBlockhashes, MAXIMUM_BLOCKHASH_AGE } from './blockhashes.ts';
import { createBlockTimes } from './blockTimes.ts';
import { createRecentFees, feeOf, unitPriceOf } from './fees.ts';
import { memoOf, metaOf } from './meta.ts';
import { nextNonce, nonceAccountOf, nonceOf, withNonce } from './nonces.ts';
import { FIRST_SLOT, heightOf, type Slots } from './slots.ts';
import type { AccountChange, Store, StoredTransaction } from './store.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

export interface Finality {
  /** Slots after its own until a block is confirmed. */
  readonly confirmedAfter: number;
  readonly finalizedAfter: number;
}

export type Landing =
  | { readonly landed: true; readonly slot: bigint; readonly error: TransactionError | null }
  /** In no block: nothing was charged. */
  | { readonly landed: false; readonly error: TransactionError };

/** Blocks whose hashes programs may ask for. */
const SLOT_HASHES = 512n;

export type Ledger = ReturnType<typeof createLedger>;

export interface LedgerOptions {
  readonly store: Store;
  readonly vm: Vm;
  readonly slots: Slots;
  /** 0 where they are moved by hand. */
  readonly slotMs: number;
  readonly finality: Finality;
  readonly genesis: Uint8Array;
}

export function createLedger({ store, vm, slots, slotMs, finality, genesis }: LedgerOptions) {
  const blockhashes = createBlockhashes(genesis, store.forks());
  const recentFees = createRecentFees();
  const times = createBlockTimes({ marks: store.timeMarks(), slotMs, keep: store.keepTimeMark });
  times.mark(slots.now());
  /** Waiting for their slot, the earliest first. */
  let delayed: readonly { readonly slot: bigint; readonly wire: WireTransaction }[] = [];

  const slotAt = (commitment: Commitment, newest: bigint): bigint => {
    const behind = { processed: 0, confirmed: finality.confirmedAfter, finalized: finality.finalizedAfter };
    const slot = newest - BigInt(behind[commitment]);
    return slot < FIRST_SLOT ? FIRST_SLOT : slot;
  };

  const accountAt = (address: string, slot: bigint): AccountState | undefined => {
    const earlier = store.accountBefore(address, slot);
    return earlier ? earlier.state : vm.account(address);
  };

  /** Of the accounts that are so now, as the store finds them, those that were so in the slot. */
  function* accountsWhere(
    found: Iterable<readonly [string, AccountState]>,
    isWanted: (state: AccountState) => boolean,
    slot: bigint,
  ): Generator<readonly [string, AccountState]> {
    const changed = new Set(store.changedAfter(slot));
    for (const [address, state] of found) {
      if (!changed.has(address) && isWanted(state)) yield [address, state];
    }
    for (const address of changed) {
      const state = accountAt(address, slot);
      if (state && isWanted(state)) yield [address, state];
    }
  }

  const setScene = (message: Message, slot: bigint) => {
    vm.setTime(slot, BigInt(times.secondsAt(slot)));
    if (message.lookups.length === 0 && !message.staticKeys.includes(LOOKUP_TABLE_PROGRAM)) return;
    const hashes = [];
    for (let past = slot - 1n; past >= slot - SLOT_HASHES && past >= FIRST_SLOT; past -= 1n) {
      hashes.push({ slot: past, hash: blockhashes.at(past) });
    }
    vm.setSlotHashes(hashes);
  };

  /** Where a message names what gives it a place in a block; `parent` is the newest whose hash that block knows. */
  const lifetimeOf = (
    message: Message,
    slot: bigint,
    parent: bigint,
    account: (address: string) => AccountState | undefined,
  ): { readonly nonceAccount: string | undefined } | undefined => {
    if (blockhashes.isUsable(message.recentBlockhash, slot, slots.now())) return { nonceAccount: undefined };
    const found = nonceAccountOf(message, account);
    // In the block in which it was advanced it cannot be again.
    if (!found || found.nonce.value === nextNonce(blockhashes.at(parent))) return undefined;
    return { nonceAccount: found.address };
  };

  const noncesAmong = (
    addresses: readonly string[],
    account: (address: string) => AccountState | undefined,
  ) => addresses.filter((address) => nonceOf(account(address)));
  const advanceNonce = (address: string, value: string) => {
    const state = vm.account(address);
    if (state) vm.setAccount(address, withNonce(state, value));
  };
  /** The machine takes a transaction's own blockhash for the newest: what follows from it stands for the chain's. */
  const exchangeNonce = (address: string, from: string, to: string) => {
    if (nonceOf(vm.account(address))?.value === from) advanceNonce(address, to);
  };

  const landLater = (wire: WireTransaction, slot: bigint) => {
    const earlier = delayed.filter((other) => other.slot <= slot);
    delayed = [...earlier, { slot, wire }, ...delayed.filter((other) => other.slot > slot)];
  };

  const execute = (wire: WireTransaction, slot: bigint): Landing => {
    if (store.status(wire.signature)) return { landed: false, error: 'AlreadyProcessed' };
    const lifetime = lifetimeOf(wire.message, slot, slot - 1n, vm.account);
    if (lifetime === undefined) {
      if (nonceAccountOf(wire.message, vm.account)) landLater(wire, slot + 1n);
      return { landed: false, error: 'BlockhashNotFound' };
    }
    try {
      return executeNew(wire, slot, lifetime.nonceAccount);
    } catch (error) {
      // The machine may have done what is not kept.
      store.fail(error);
      throw error;
    }
  };

  const executeNew = (wire: WireTransaction, slot: bigint, nonceAccount: string | undefined): Landing => {
    const { message } = wire;
    const accounts = accountsOf(message, vm.account);
    const before = accounts?.all.map(vm.account) ?? [];
    setScene(message, slot);
    const next = nextNonce(blockhashes.at(slot - 1n));
    const machineNext = nextNonce(message.recentBlockhash);
    const nonces = noncesAmong(accounts?.all ?? [], vm.account);
    for (const address of nonces) exchangeNonce(address, next, machineNext);
    const execution = vm.execute(wire.bytes);
    for (const address of noncesAmong(accounts?.all ?? [], vm.account))
      exchangeNonce(address, machineNext, next);
    if (
      execution.error !== null &&
      nonceAccount &&
      vm.account(wire.message.staticKeys[0] ?? '')?.lamports !== before[0]?.lamports
    ) {
      advanceNonce(nonceAccount, next);
    }
    const after = accounts?.all.map(vm.account) ?? [];
    // A failed transaction is in the block where it paid its fee.
    const isCharged = before[0]?.lamports !== after[0]?.lamports;
    if (execution.error !== null && !isCharged) return { landed: false, error: execution.error };
    if (!accounts) throw new Error(`${wire.signature} was executed with accounts that it cannot have`);

    const changes = accounts.all.flatMap((address, index): AccountChange[] => {
      const change = { address, before: before[index], after: after[index] };
      return isWritable(message, index) && !isSame(change.before, change.after) ? [change] : [];
    });
    const feeLamports = feeOf(message);
    const facts = { feeLamports, execution, accounts, before, after, account: vm.account };
    store.forgetUndo(slotAt('finalized', slot));
    store.keepTransaction(
      {
        signature: wire.signature,
        slot,
        blockTimeSeconds: times.secondsAt(slot),
        error: execution.error === null ? null : writeJson(execution.error),
        memo: memoOf(message),
        wire: wire.bytes,
        meta: writeJson(metaOf(facts)),
      },
      accounts.all,
      changes,
    );
    for (const { address, after: state } of changes) {
      const token = tokenAccountOf(state);
      if (token) store.keepTokenAccount(token.owner, address);
    }
    store.keepMark({ slot: slots.now(), atMs: Date.now() });
    const written = accounts.all.filter((_address, index) => isWritable(message, index));
    recentFees.add({ slot, unitPrice: unitPriceOf(message), written });
    return { landed: true, slot, error: execution.error };
  };

  /** The slot of now, after all that was to land before it. */
  const tip = (): bigint => {
    const now = slots.now();
    times.see(now);
    while (delayed[0] && delayed[0].slot <= now) {
      const [{ slot, wire }, ...rest] = delayed;
      delayed = rest;
      execute(wire, slot);
    }
    return now;
  };

  return {
    tip,
    /** The newest slot of that commitment, for a node whose newest is `tip`. */
    slotAt,
    commitmentOf(slot: bigint, newest: bigint): Commitment {
      if (slot <= slotAt('finalized', newest)) return 'finalized';
      return slot <= slotAt('confirmed', newest) ? 'confirmed' : 'processed';
    },
    blockhashAt: (slot: bigint) => ({
      blockhash: blockhashes.at(slot),
      lastValidBlockHeight: heightOf(slot) + MAXIMUM_BLOCKHASH_AGE,
    }),
    /** Whether a block after that of `slot` takes the message: for its blockhash, or for a nonce as of then. */
    isInTime: (message: Message, slot: bigint) =>
      lifetimeOf(message, slot, slot, (address) => accountAt(address, slot)) !== undefined,
    /** Whether the block of `slot` takes a transaction with this blockhash. */
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
    /** Of all accounts. Fees are burnt, so it falls. */
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

    /** As if it were in the block after `slot`; nothing is kept. */
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
    blockTimeSeconds: (slot: bigint) => store.blockTimeIn(slot) ?? times.secondsAt(slot),
    countsFrom: store.countsFrom,
    transactionsNaming: store.transactionsNaming,
    transactionCount: store.transactionCount,
    /** The lowest price per compute unit by slot, of those that wrote all these accounts. */
    recentFees: (written: readonly string[]) => recentFees.upto(tip(), written),

    /**
     * The blocks from `firstSlot` on are replaced by empty ones. Returns the transactions that were in them, which no
     * node holds any more: whoever has them may send them again.
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

    /** Sets what no transaction made: a mint, the faucet's funds. Kept only where it is not there yet. */
    ensureAccount(address: string, state: AccountState): void {
      if (vm.account(address)) return;
      vm.setAccount(address, state);
      store.keepAccount(address, state);
    },
    durable: () => store.durable(),
  };
}

function isSame(one: AccountState | undefined, other: AccountState | undefined): boolean {
  if (!one || !other) return one === other;
  return (
    one.lamports === other.lamports &&
    one.owner === other.owner &&
    one.executable === other.executable &&
    Buffer.compare(one.data, other.data) === 0
  );
}
