/** The nonces that the machine has, and those that the chain has in their place. */
import type { AccountState, Vm } from '../vm.ts';
import { nonceOf, withNonce } from './nonces.ts';

export function createNonceExchange(vm: Vm) {
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

  return { noncesAmong, advanceNonce, exchangeNonce };
}
