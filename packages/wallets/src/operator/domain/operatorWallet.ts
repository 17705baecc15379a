/** A wallet of an app itself: that it exists, its role and its address. An app has one for each role. */
import assert from 'node:assert/strict';
import { type Decision, type Environment, idFromParts, type StreamType, streamName } from '@coffer/kernel';
import {
  type OperatorWalletEvent,
  type OperatorWalletRole,
  operatorWalletEvents,
} from './operatorWallet.events.ts';

const CATEGORY = 'operatorWallet';

/** Who owns a wallet. No money of one environment or app is ever in another's. */
export interface OperatorWalletOwner {
  readonly environment: Environment;
  readonly appId: string;
  readonly role: OperatorWalletRole;
}

/** Derived from the owner, so that everybody who provisions it, twice or in parallel, means the same wallet. */
export const operatorWalletIdOf = ({ environment, appId, role }: OperatorWalletOwner): string =>
  idFromParts('wlt', role, environment, appId);

export const operatorWalletStreamName = (owner: OperatorWalletOwner): string =>
  streamName(CATEGORY, owner.environment, owner.appId, operatorWalletIdOf(owner));

export type ProvisionedOperatorWallet = OperatorWalletEvent['data'];

/** Undefined until provisioned. */
export type OperatorWalletState = ProvisionedOperatorWallet | undefined;

/** Derived entirely from the owner and the sealed key's row, so that everybody makes the same request. */
export interface OperatorWalletCommand extends Omit<ProvisionedOperatorWallet, 'provisionedAt'> {
  readonly type: 'ProvisionOperatorWallet';
  readonly at: Date;
}

function decide(
  state: OperatorWalletState,
  { walletId, appId, role, address, at }: OperatorWalletCommand,
): Decision<OperatorWalletEvent, ProvisionedOperatorWallet> {
  if (state) {
    assert(
      state.walletId === walletId && state.appId === appId && state.role === role,
      'a wallet id stands for one owner',
    );
    assert(state.address === address, 'a wallet has one key');
    return { events: [], answer: state, replayed: true };
  }

  const data = { walletId, appId, role, address, provisionedAt: at.toISOString() };
  return { events: [{ type: 'OperatorWalletProvisioned', data }], answer: data };
}

function evolve(state: OperatorWalletState, event: OperatorWalletEvent): OperatorWalletState {
  assert(!state, 'a wallet is provisioned once');
  return event.data;
}

export const operatorWallet: StreamType<
  OperatorWalletCommand,
  OperatorWalletEvent,
  OperatorWalletState,
  ProvisionedOperatorWallet
> = {
  category: CATEGORY,
  version: 1,
  codec: operatorWalletEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: () => 400,
};
