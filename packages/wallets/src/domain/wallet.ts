/** A wallet's standing. Its key is a row elsewhere: this stream says that it exists, under which address. */
import assert from 'node:assert/strict';
import type { Decision, StreamType } from '@coffer/kernel';
import { type WalletEvent, walletEvents } from './wallet.events.ts';

/** Only `active` comes about so far; a wallet that has left it is followed by one of the next generation. */
export type WalletStatus = 'active' | 'exported' | 'migrated';

export interface ProvisionedWallet {
  readonly walletId: string;
  readonly userId: string;
  readonly address: string;
  readonly generation: number;
  readonly provisionedAt: string;
  readonly status: WalletStatus;
}

/** Undefined until provisioned. */
export type WalletState = ProvisionedWallet | undefined;

/** All of it follows from the sealed key's row, so that everybody who finds the row asks for the same. */
export interface WalletCommand {
  readonly type: 'ProvisionWallet';
  readonly walletId: string;
  readonly userId: string;
  readonly address: string;
  readonly generation: number;
  readonly at: Date;
}

function decide(
  state: WalletState,
  { walletId, userId, address, generation, at }: WalletCommand,
): Decision<WalletEvent, ProvisionedWallet> {
  if (state) {
    // The id follows from the owner and the address from the one row of that id: no caller can ask for another.
    assert(
      state.walletId === walletId && state.userId === userId && state.generation === generation,
      'a wallet id stands for one owner',
    );
    assert(state.address === address, 'a wallet has one key');
    return { events: [], answer: { ...state, status: 'active' }, replayed: true };
  }

  const data = { walletId, userId, address, generation, provisionedAt: at.toISOString() };
  return { events: [{ type: 'WalletProvisioned', data }], answer: { ...data, status: 'active' } };
}

function evolve(state: WalletState, event: WalletEvent): WalletState {
  assert(!state, 'a wallet is provisioned once');
  return { ...event.data, status: 'active' };
}

export const wallet: StreamType<WalletCommand, WalletEvent, WalletState, ProvisionedWallet> = {
  category: 'wallet',
  version: 1,
  codec: walletEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: () => 400,
};
