/** The accounts as they were in the block of a slot. */
import type { AccountState, Vm } from '../vm.ts';
import type { Store } from './store.ts';

export function createPastAccounts(store: Store, vm: Vm) {
  const accountAt = (address: string, slot: bigint): AccountState | undefined => {
    const earlier = store.accountBefore(address, slot);
    return earlier ? earlier.state : vm.account(address);
  };

  /** Of the accounts that now meet the condition, as the store finds them, those that met it in the slot. */
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

  return { accountAt, accountsWhere };
}
