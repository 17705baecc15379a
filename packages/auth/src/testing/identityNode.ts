/** Sign-ins without HTTP: identities with the real users, log, database and wallets. */
import type { Pool } from '@coffer/database';
import { type CommandContext, createCommandHandler, type EventStore } from '@coffer/event-store';
import { createSecretBox, type FailPoint, newId, noFailPoint, systemClock } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { createUsers, type Users } from '@coffer/users';
import { createWallets, identityWalletsOf } from '@coffer/wallets';
import {
  createIdentityFlows,
  createPersonalData,
  type IdentityFlows,
  type PersonalData,
} from '../identities/index.ts';
import type { VerifiedIdentity } from '../types.ts';
import { IDENTITY_KEY, SPEC_MASTER_KEYS } from './authContexts.ts';

/** The identities of one process. */
export interface IdentityNode extends IdentityFlows {
  readonly personalData: PersonalData;
  readonly users: Users;
}

const SECRETS_KEY = Buffer.alloc(32, 1);

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
  const wallets = createWallets({ pool, handler, masterKeys: SPEC_MASTER_KEYS, clock: systemClock });
  const places = { pool, handler, store, secretBox, identityKey: IDENTITY_KEY };
  const identityWallets = identityWalletsOf(wallets);
  const flows = createIdentityFlows({ ...places, users, identityWallets, failPoint });
  return { ...flows, users, personalData: createPersonalData(pool, secretBox) };
}

export const contextOf = (requestId = 'req-1'): CommandContext => ({
  metadata: { correlationId: requestId, actor: 'key:1', occurredAt: new Date().toISOString() },
  deadlineMs: patiently(),
});

export const newPlace = () => ({ appId: newId('app'), scopeId: newId('scp'), environment: 'test' }) as const;

let people = 0;

/** A person who has never been here before. */
export function newPerson(): VerifiedIdentity & { readonly profile: { readonly email: string } } {
  people += 1;
  const email = `person-${people}@example.com`;
  return { type: 'email', externalId: email, profile: { email } };
}
