/** Sign-ins without HTTP: the identities on the real users, log and database, and real wallets. */

import {
  createIdentityFlows,
  createPersonalData,
  type IdentityFlows,
  type PersonalData,
  type VerifiedIdentity,
} from '@coffer/auth';
import type { Pool } from '@coffer/database';
import { type CommandContext, createCommandHandler, type EventStore } from '@coffer/event-store';
import { createSecretBox, type FailPoint, newId, noFailPoint, systemClock } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { createUsers, type Users } from '@coffer/users';
import {
  adoptMasterKeys,
  createMasterKeys,
  createWallets,
  identityWalletsOf,
  parseMasterKeys,
} from '@coffer/wallets';
import { SPEC_MASTER_KEYS } from './world.ts';

/** What one process has of the identities. */
export interface IdentityNode extends IdentityFlows {
  readonly personalData: PersonalData;
  readonly users: Users;
}

const SECRETS_KEY = Buffer.alloc(32, 1);
const IDENTITY_KEY = Buffer.alloc(32, 2);
const MASTER_KEYS = createMasterKeys(parseMasterKeys(SPEC_MASTER_KEYS));

export function identityNode({
  pool,
  store,
  failPoint = noFailPoint,
}: {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly failPoint?: FailPoint;
}): IdentityNode {
  const handler = createCommandHandler({ store });
  const secretBox = createSecretBox(SECRETS_KEY);
  const users = createUsers({ handler, store, clock: systemClock });
  const wallets = createWallets({ pool, handler, masterKeys: MASTER_KEYS, clock: systemClock });
  const places = { pool, handler, store, secretBox, identityKey: IDENTITY_KEY };
  const identityWallets = identityWalletsOf(wallets);
  const flows = createIdentityFlows({ ...places, users, identityWallets, failPoint });
  return { ...flows, users, personalData: createPersonalData(pool, secretBox) };
}

/** Once for each database, before any wallet is made. */
export const adoptSpecMasterKeys = (pool: Pool) =>
  adoptMasterKeys(pool, MASTER_KEYS, { actor: 'operator', requestId: 'spec', at: new Date() });

export const contextOf = (requestId = 'req-1'): CommandContext => ({
  metadata: { correlationId: requestId, actor: 'key:1', occurredAt: new Date().toISOString() },
  deadlineMs: patiently(),
});

export const newPlace = () => ({ appId: newId('app'), scopeId: newId('scp'), environment: 'test' }) as const;

let people = 0;

/** A person who was never here before. */
export function newPerson(): VerifiedIdentity & { readonly profile: { readonly email: string } } {
  people += 1;
  const email = `person-${people}@example.com`;
  return { type: 'email', externalId: email, profile: { email } };
}
