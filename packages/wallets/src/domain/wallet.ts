/**
 * A wallet's state, and the moves from and to it that have not ended: one stream decides on both, so a wallet with a
 * move in flight is never exported. Its key is a row elsewhere.
 */
import assert from 'node:assert/strict';
import type { Decision, StreamType } from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type WalletEvent, walletEvents } from './wallet.events.ts';
import { decodeWallet, encodeWallet } from './wallet.snapshot.ts';
import type { ActiveWallet, ProvisionedWallet, Successor, WalletFacts, WalletState } from './wallet.state.ts';

type MoveAdmitted = Extract<WalletEvent, { type: 'WalletMoveAdmitted' }>['data'];

export type WalletCommand =
  /** Derived entirely from the sealed key's row, so that everybody who finds the row makes the same request. */
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
  | ({ readonly type: 'MigrateWallet'; readonly ref: string; readonly at: Date } & Successor)
  | ({ readonly type: 'AdmitMove' } & Omit<MoveAdmitted, 'walletId'>)
  /** For a move that has ended, or that belongs to another wallet. */
  | { readonly type: 'ReleaseMove'; readonly moveId: string };

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
    case 'AdmitMove':
      return admitMove(state, command);
    case 'ReleaseMove':
      return releaseMove(state, command);
    default:
      throw new assert.AssertionError({ message: 'no such command', actual: command satisfies never });
  }
}

function provision(
  state: WalletState,
  { walletId, userId, address, generation, at }: CommandOf<'ProvisionWallet'>,
): WalletDecision {
  if (state) {
    const { wallet: known } = state;
    // The id is derived from the owner and the address comes from the one row of that id: no caller can ask for
    // another.
    assert(
      known.walletId === walletId && known.userId === userId && known.generation === generation,
      'a wallet id stands for one owner',
    );
    assert(known.address === address, 'a wallet has one key');
    return { events: [], answer: asProvisioned(known), replayed: true };
  }

  const data = { walletId, userId, address, generation, provisionedAt: at.toISOString() };
  return { events: [{ type: 'WalletProvisioned', data }], answer: { ...data, status: 'active' } };
}

function exportWallet(state: WalletState, command: CommandOf<'ExportWallet'>): WalletDecision {
  const { idempotencyKey, recipientPublicKey, newWalletId, newAddress, at } = command;
  if (!state) throw reject('wallets/not_found');
  const { wallet: known, admitted } = state;
  if (known.status === 'exported' && known.idempotencyKey === idempotencyKey) {
    if (known.recipientPublicKey !== recipientPublicKey) {
      throw reject('wallets/idempotency_conflict', { key: idempotencyKey, field: 'recipientPublicKey' });
    }
    return { events: [], answer: known, replayed: true };
  }
  if (known.status !== 'active') throw reject('wallets/not_active', { status: known.status });
  // All other reasons to refuse were checked before; only this one may have changed since.
  if (admitted.size > 0) {
    throw reject('wallets/export_not_allowed', { reasons: ['moves_in_flight'], floor: [] });
  }

  const { walletId, userId, address } = known;
  const exportedAt = at.toISOString();
  const ended = { idempotencyKey, recipientPublicKey, newWalletId, newAddress, exportedAt };
  return {
    events: [{ type: 'WalletExported', data: { walletId, userId, address, ...ended } }],
    answer: { ...known, status: 'exported', ...ended },
  };
}

function migrate(state: WalletState, command: CommandOf<'MigrateWallet'>): WalletDecision {
  const { ref, newWalletId, newAddress, at } = command;
  if (!state) throw reject('wallets/not_found');
  const { wallet: known } = state;
  if (known.status === 'migrated' && known.ref === ref) return { events: [], answer: known, replayed: true };
  if (known.status !== 'active') throw reject('wallets/not_active', { status: known.status });

  const { walletId, userId, address } = known;
  const ended = { ref, newWalletId, newAddress, migratedAt: at.toISOString() };
  return {
    events: [{ type: 'WalletMigrated', data: { walletId, userId, address, ...ended } }],
    answer: { ...known, status: 'migrated', ...ended },
  };
}

function admitMove(state: WalletState, command: CommandOf<'AdmitMove'>): WalletDecision {
  const { type: _, ...move } = command;
  if (!state) throw reject('wallets/not_found');
  const { wallet: known, admitted } = state;
  // Holds only until it is released: a moment later the same move might no longer be admitted.
  if (admitted.has(move.moveId)) return { events: [], answer: known, replayed: true, revocable: true };
  if (known.status !== 'active') throw reject('wallets/not_active', { status: known.status });

  const data = { walletId: known.walletId, ...move };
  return { events: [{ type: 'WalletMoveAdmitted', data }], answer: known };
}

/** Also in a wallet that has been migrated since: its key stays, and so do its moves. */
function releaseMove(state: WalletState, { moveId }: CommandOf<'ReleaseMove'>): WalletDecision {
  if (!state) throw reject('wallets/not_found');
  const { wallet: known, admitted } = state;
  if (!admitted.has(moveId)) return { events: [], answer: known };

  const data = { walletId: known.walletId, moveId };
  return { events: [{ type: 'WalletMoveReleased', data }], answer: known };
}

/** The answer of its provisioning, whatever has happened to it since. */
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
  if (event.type === 'WalletProvisioned') {
    assert(!state, 'a wallet is provisioned once');
    return { wallet: { ...event.data, status: 'active' }, revision: 0, admitted: new Map() };
  }
  assert(state, `${event.type} of a wallet that was not provisioned`);
  const { wallet: known, admitted } = state;
  const revision = state.revision + 1;
  switch (event.type) {
    case 'WalletExported':
      assert(known.status === 'active', 'only an active wallet is exported');
      assert(admitted.size === 0, 'a wallet with a move on its way is not exported');
      return { ...state, revision, wallet: { ...known, ...event.data, status: 'exported' } };
    case 'WalletMigrated':
      assert(known.status === 'active', 'only an active wallet is migrated');
      return { ...state, revision, wallet: { ...known, ...event.data, status: 'migrated' } };
    case 'WalletMoveAdmitted': {
      const { moveId, moveOwnerId } = event.data;
      assert(known.status === 'active', 'only an active wallet admits moves');
      assert(!admitted.has(moveId), 'a move is admitted once');
      const move = { moveId, moveOwnerId, revision };
      return { ...state, revision, admitted: new Map(admitted).set(moveId, move) };
    }
    case 'WalletMoveReleased': {
      const left = new Map(admitted);
      assert(left.delete(event.data.moveId), 'only a move that was admitted is released');
      return { ...state, revision, admitted: left };
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

// Stream type

const BYTES = 800;
const BYTES_OF_A_MOVE = 200;

export const wallet: StreamType<WalletCommand, WalletEvent, WalletState, ProvisionedWallet> = {
  category: 'wallet',
  version: 3,
  codec: walletEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: (state) => BYTES + (state?.admitted.size ?? 0) * BYTES_OF_A_MOVE,
  snapshot: {
    encode(state) {
      assert(state);
      return encodeWallet(state);
    },
    decode: decodeWallet,
  },
};
