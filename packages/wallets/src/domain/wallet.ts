/** A wallet's standing. Its key is a row elsewhere: this stream says that it exists, under which address. */
import assert from 'node:assert/strict';
import type { Decision, StreamType } from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type WalletEvent, walletEvents } from './wallet.events.ts';

/** A wallet that has left `active` is followed by one of the next generation, and never comes back. */
export type WalletStatus = 'active' | 'exported' | 'migrated';

interface WalletFacts {
  readonly walletId: string;
  readonly userId: string;
  readonly address: string;
  readonly generation: number;
  readonly provisionedAt: string;
}

/** The wallet that follows: its id follows from the owner, its key is durable before the end of this one. */
export interface Successor {
  readonly newWalletId: string;
  readonly newAddress: string;
}

export interface ActiveWallet extends WalletFacts {
  readonly status: 'active';
}

export interface ExportedWallet extends WalletFacts, Successor {
  readonly status: 'exported';
  readonly idempotencyKey: string;
  readonly recipientPublicKey: string | null;
  readonly exportedAt: string;
}

export interface MigratedWallet extends WalletFacts, Successor {
  readonly status: 'migrated';
  readonly ref: string;
  readonly migratedAt: string;
}

export type ProvisionedWallet = ActiveWallet | ExportedWallet | MigratedWallet;

/** Undefined until provisioned. */
export type WalletState = ProvisionedWallet | undefined;

export type WalletCommand =
  /** All of it follows from the sealed key's row, so that everybody who finds the row asks for the same. */
  | {
      readonly type: 'ProvisionWallet';
      readonly walletId: string;
      readonly userId: string;
      readonly address: string;
      readonly generation: number;
      readonly at: Date;
    }
  | ({
      readonly type: 'ExportWallet';
      readonly idempotencyKey: string;
      readonly recipientPublicKey: string | null;
      readonly at: Date;
    } & Successor)
  | ({ readonly type: 'MigrateWallet'; readonly ref: string; readonly at: Date } & Successor);

type CommandOf<Type extends WalletCommand['type']> = Extract<WalletCommand, { type: Type }>;
type WalletDecision = Decision<WalletEvent, ProvisionedWallet>;

function decide(state: WalletState, command: WalletCommand): WalletDecision {
  switch (command.type) {
    case 'ProvisionWallet':
      return provision(state, command);
    case 'ExportWallet':
      return exportWallet(state, command);
    case 'MigrateWallet':
      return migrate(state, command);
    default:
      throw new assert.AssertionError({ message: 'no such command', actual: command satisfies never });
  }
}

function provision(
  state: WalletState,
  { walletId, userId, address, generation, at }: CommandOf<'ProvisionWallet'>,
): WalletDecision {
  if (state) {
    // The id follows from the owner and the address from the one row of that id: no caller can ask for another.
    assert(
      state.walletId === walletId && state.userId === userId && state.generation === generation,
      'a wallet id stands for one owner',
    );
    assert(state.address === address, 'a wallet has one key');
    return { events: [], answer: asProvisioned(state), replayed: true };
  }

  const data = { walletId, userId, address, generation, provisionedAt: at.toISOString() };
  return { events: [{ type: 'WalletProvisioned', data }], answer: { ...data, status: 'active' } };
}

function exportWallet(state: WalletState, command: CommandOf<'ExportWallet'>): WalletDecision {
  const { idempotencyKey, recipientPublicKey, newWalletId, newAddress, at } = command;
  if (!state) throw reject('wallets/not_found');
  if (state.status === 'exported' && state.idempotencyKey === idempotencyKey) {
    if (state.recipientPublicKey !== recipientPublicKey) {
      throw reject('wallets/idempotency_conflict', { key: idempotencyKey, field: 'recipientPublicKey' });
    }
    return { events: [], answer: state, replayed: true };
  }
  if (state.status !== 'active') throw reject('wallets/not_active', { status: state.status });

  const { walletId, userId, address } = state;
  const exportedAt = at.toISOString();
  const ended = { idempotencyKey, recipientPublicKey, newWalletId, newAddress, exportedAt };
  return {
    events: [{ type: 'WalletExported', data: { walletId, userId, address, ...ended } }],
    answer: { ...state, status: 'exported', ...ended },
  };
}

function migrate(state: WalletState, command: CommandOf<'MigrateWallet'>): WalletDecision {
  const { ref, newWalletId, newAddress, at } = command;
  if (!state) throw reject('wallets/not_found');
  if (state.status === 'migrated' && state.ref === ref) return { events: [], answer: state, replayed: true };
  if (state.status !== 'active') throw reject('wallets/not_active', { status: state.status });

  const { walletId, userId, address } = state;
  const ended = { ref, newWalletId, newAddress, migratedAt: at.toISOString() };
  return {
    events: [{ type: 'WalletMigrated', data: { walletId, userId, address, ...ended } }],
    answer: { ...state, status: 'migrated', ...ended },
  };
}

/** As it was answered when it was provisioned, whatever became of it since. */
const asProvisioned = ({
  walletId,
  userId,
  address,
  generation,
  provisionedAt,
}: WalletFacts): ActiveWallet => ({
  walletId,
  userId,
  address,
  generation,
  provisionedAt,
  status: 'active',
});

function evolve(state: WalletState, event: WalletEvent): WalletState {
  switch (event.type) {
    case 'WalletProvisioned':
      assert(!state, 'a wallet is provisioned once');
      return { ...event.data, status: 'active' };
    case 'WalletExported':
      assert(state?.status === 'active', 'only an active wallet is exported');
      return { ...state, ...event.data, status: 'exported' };
    case 'WalletMigrated':
      assert(state?.status === 'active', 'only an active wallet is migrated');
      return { ...state, ...event.data, status: 'migrated' };
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

export const wallet: StreamType<WalletCommand, WalletEvent, WalletState, ProvisionedWallet> = {
  category: 'wallet',
  version: 2,
  codec: walletEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: () => 800,
};
