/** Sign-in and what it depends on: apps, users, and wallets without a chain. */
import { randomBytes } from 'node:crypto';
import { type Contexts, contexts } from '@coffer/host';
import { type ContextWorld, type ContextWorldOptions, startContexts } from '@coffer/host/testing';
import { chainContext, movesContext, type RentSponsor } from '@coffer/moves';
import { memoryRentSponsor } from '@coffer/moves/testing';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { type Chains, openChains } from '@coffer/solana';
import { usersContext } from '@coffer/users';
import {
  adoptMasterKeys,
  createMasterKeys,
  type MasterKeys,
  newMasterKey,
  walletsContext,
} from '@coffer/wallets';
import { authContext } from '../context.ts';
import type { MailTransport } from '../methods/index.ts';

export interface AuthGiven extends PortalGiven {
  readonly identityKey: Uint8Array;
  readonly mail: MailTransport | undefined;
  readonly chains: Chains;
  readonly rentSponsor: RentSponsor;
  readonly masterKeys: MasterKeys;
  readonly makeNextMasterKey: undefined;
}

export const AUTH_CONTEXTS = contexts<AuthGiven>()
  .with(chainContext)
  .with(portalContext)
  .with(usersContext)
  .with(movesContext)
  .with(walletsContext)
  .with(authContext);

export const IDENTITY_KEY = randomBytes(32);

export const SPEC_MASTER_KEYS = createMasterKeys([newMasterKey('test', 1), newMasterKey('live', 1)]);

/** An installation without mail and without a chain, unless given. */
export const authGiven = (given: Partial<AuthGiven> = {}): AuthGiven => ({
  ...PORTAL_GIVEN,
  identityKey: IDENTITY_KEY,
  mail: undefined,
  chains: openChains({ test: undefined, live: undefined }),
  rentSponsor: memoryRentSponsor(),
  masterKeys: SPEC_MASTER_KEYS,
  makeNextMasterKey: undefined,
  ...given,
});

interface AuthWorldOptions extends Partial<Omit<ContextWorldOptions<AuthGiven>, 'given'>> {
  readonly given?: Partial<AuthGiven>;
}

/** `contexts`: in addition to those of sign-in. */
export async function startAuthWorld({
  contexts: started = AUTH_CONTEXTS as Contexts<AuthGiven, object>,
  given,
  ...options
}: AuthWorldOptions = {}): Promise<ContextWorld<AuthGiven>> {
  const world = await startContexts({
    ...options,
    contexts: started,
    given: authGiven(given),
  });
  await adoptSpecMasterKeys(world.pool);
  return world;
}

/** Once per database, before any wallet is created. */
export const adoptSpecMasterKeys = (pool: ContextWorld['pool']) =>
  adoptMasterKeys(pool, SPEC_MASTER_KEYS, { actor: 'operator', requestId: 'spec', at: new Date() });
