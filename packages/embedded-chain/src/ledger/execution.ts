/** How a transaction is executed in the block of a slot, and what is recorded of it. */
import { writeJson } from '../json.ts';
import { tokenAccountOf } from '../tokens.ts';
import type { TransactionError } from '../transactionError.ts';
import type { AccountState, Execution, Vm } from '../vm.ts';
import { isWritable, type Message, type WireTransaction } from '../wire.ts';
import { accountsOf, LOOKUP_TABLE_PROGRAM, type NamedAccounts } from './accountsOf.ts';
import type { createBlockhashes } from './blockhashes.ts';
import type { createBlockTimes } from './blockTimes.ts';
import { type createRecentFees, feeOf, unitPriceOf } from './fees.ts';
import { memoOf, metaOf } from './meta.ts';
import { createNonceExchange } from './nonceExchange.ts';
import { nextNonce, nonceAccountOf } from './nonces.ts';
import { FIRST_SLOT, type Slots } from './slots.ts';
import type { AccountChange, Store } from './store.ts';

export type Landing =
  | { readonly landed: true; readonly slot: bigint; readonly error: TransactionError | null }
  /** In no block: nothing was charged. */
  | { readonly landed: false; readonly error: TransactionError };

/** Blocks whose hashes programs may ask for. */
const SLOT_HASHES = 512n;

export function createExecution({
  store,
  vm,
  slots,
  blockhashes,
  times,
  recentFees,
  finalSlotOf,
}: {
  readonly store: Store;
  readonly vm: Vm;
  readonly slots: Slots;
  readonly blockhashes: ReturnType<typeof createBlockhashes>;
  readonly times: ReturnType<typeof createBlockTimes>;
  readonly recentFees: ReturnType<typeof createRecentFees>;
  /** The newest final slot for a node whose newest slot is this. */
  readonly finalSlotOf: (newest: bigint) => bigint;
}) {
  const { noncesAmong, advanceNonce, exchangeNonce } = createNonceExchange(vm);
  /** Waiting for their slot, earliest first. */
  let delayed: readonly { readonly slot: bigint; readonly wire: WireTransaction }[] = [];

  const setScene = (message: Message, slot: bigint) => {
    vm.setTime(slot, BigInt(times.secondsAt(slot)));
    if (message.lookups.length === 0 && !message.staticKeys.includes(LOOKUP_TABLE_PROGRAM)) return;
    const hashes = [];
    for (let past = slot - 1n; past >= slot - SLOT_HASHES && past >= FIRST_SLOT; past -= 1n) {
      hashes.push({ slot: past, hash: blockhashes.at(past) });
    }
    vm.setSlotHashes(hashes);
  };

  /** What gives a message its place in a block; `parent` is the newest block whose hash that block knows. */
  const lifetimeOf = (
    message: Message,
    slot: bigint,
    parent: bigint,
    account: (address: string) => AccountState | undefined,
  ): { readonly nonceAccount: string | undefined } | undefined => {
    if (blockhashes.isUsable(message.recentBlockhash, slot, slots.now())) return { nonceAccount: undefined };
    const found = nonceAccountOf(message, account);
    // It cannot be advanced again in the block in which it was advanced.
    if (!found || found.nonce.value === nextNonce(blockhashes.at(parent))) return undefined;
    return { nonceAccount: found.address };
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
      // The machine may have executed what is not recorded.
      store.fail(error);
      throw error;
    }
  };

  const executeNew = (wire: WireTransaction, slot: bigint, nonceAccount: string | undefined): Landing => {
    const { message } = wire;
    const accounts = accountsOf(message, vm.account);
    const before = accounts?.all.map(vm.account) ?? [];
    setScene(message, slot);
    // Most name no nonce account: then neither hash is needed, and no account is read twice.
    const next = () => nextNonce(blockhashes.at(slot - 1n));
    const machineNext = () => nextNonce(message.recentBlockhash);
    for (const address of noncesAmong(accounts, before)) exchangeNonce(address, next(), machineNext());
    const execution = vm.execute(wire.bytes);
    const executed = accounts?.all.map(vm.account) ?? [];
    const nonces = noncesAmong(accounts, executed);
    for (const address of nonces) exchangeNonce(address, machineNext(), next());
    const isFeePaid = before[0]?.lamports !== executed[0]?.lamports;
    if (execution.error !== null && nonceAccount && isFeePaid) advanceNonce(nonceAccount, next());
    const after = nonces.length > 0 ? (accounts?.all.map(vm.account) ?? []) : executed;
    // A failed transaction is in the block where it paid its fee.
    if (execution.error !== null && !isFeePaid) return { landed: false, error: execution.error };
    if (!accounts) throw new Error(`${wire.signature} was executed with accounts that it cannot have`);

    keep(wire, slot, execution, accounts, before, after);
    return { landed: true, slot, error: execution.error };
  };

  const keep = (
    wire: WireTransaction,
    slot: bigint,
    execution: Execution,
    accounts: NamedAccounts,
    before: readonly (AccountState | undefined)[],
    after: readonly (AccountState | undefined)[],
  ) => {
    const { message } = wire;
    const changes = accounts.all.flatMap((address, index): AccountChange[] => {
      const change = { address, before: before[index], after: after[index] };
      return isWritable(message, index) && !isSame(change.before, change.after) ? [change] : [];
    });
    const feeLamports = feeOf(message);
    const facts = { feeLamports, execution, accounts, before, after, account: vm.account };
    store.forgetUndo(finalSlotOf(slot));
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
  };

  /** The current slot, after everything that was to land before it. */
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

  return { tip, execute, landLater, lifetimeOf, setScene };
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
