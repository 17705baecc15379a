/** Exchanges the nonces that the machine has for those of the chain. */
import type { AccountState, Vm } from '../vm.ts';
import type { NamedAccounts } from './accountsOf.ts';
import { nonceOf, withNonce } from './nonces.ts';

export function createNonceExchange(vm: Vm) {
  const noncesAmong = (accounts: NamedAccounts | undefined, states: readonly (AccountState | undefined)[]) =>
    accounts?.all.filter((_address, index) => nonceOf(states[index])) ?? [];
  const advanceNonce = (address: string, value: string) => {
    const state = vm.account(address);
    if (state) vm.setAccount(address, withNonce(state, value));
  };
  /**
   * The machine takes a transaction's own blockhash for the newest: what it derives from that stands for the chain's.
   */
  const exchangeNonce = (address: string, from: string, to: string) => {
    if (nonceOf(vm.account(address))?.value === from) advanceNonce(address, to);
  };

  return { noncesAmong, advanceNonce, exchangeNonce };
}
