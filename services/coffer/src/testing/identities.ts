/** Sign-ins without HTTP: the identities on the real users, log and database, with wallets of the specs' own. */
import {
  createErasure,
  createIdentities,
  createIdentityHash,
  createPersonalData,
  type Erasure,
  finishesClaims,
  finishesErasures,
  type Identities,
  type IdentityWallets,
  type Owner,
  type PersonalData,
  type VerifiedIdentity,
  type WalletSummary,
} from '@coffer/auth';
import type { Reaction } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import {
  type CommandContext,
  type CommandHandler,
  createCommandHandler,
  type EventStore,
} from '@coffer/event-store';
import {
  createSecretBox,
  eventCodec,
  type FailPoint,
  idFromParts,
  newId,
  noFailPoint,
  parseStreamName,
  type StreamType,
  streamName,
  systemClock,
} from '@coffer/kernel';
import { createUsers, erasureIn, type Users } from '@coffer/users';
import { z } from 'zod';
import { identityUsers } from '../identityPorts.ts';

/** What one process has of the identities. */
export interface IdentityNode {
  readonly identities: Identities;
  readonly erasure: Erasure;
  readonly personalData: PersonalData;
  readonly users: Users;
  readonly reactions: readonly Reaction[];
}

const SECRETS_KEY = Buffer.alloc(32, 1);
const IDENTITY_KEY = Buffer.alloc(32, 2);

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
  const users = createUsers({ handler, store, clock: systemClock });
  const personalData = createPersonalData(pool, createSecretBox(SECRETS_KEY));
  const ports = identityUsers(users);
  const erasure = createErasure({ handler, users: ports, personalData, failPoint });
  const identities = createIdentities({
    handler,
    store,
    hashOf: createIdentityHash(IDENTITY_KEY),
    personalData,
    erasure,
    users: ports,
    wallets: specWallets(handler),
    failPoint,
  });
  const { finishClaim } = identities;
  const reactions = [
    finishesClaims({ finishClaim, walletOwnerIn }),
    finishesErasures({ finish: erasure.finish, erasureIn }),
  ];
  return { identities, erasure, personalData, users, reactions };
}

export const contextOf = (requestId = 'req-1'): CommandContext => ({
  metadata: { correlationId: requestId, actor: 'key:1', occurredAt: new Date().toISOString() },
  deadlineMs: performance.now() + 30_000,
});

export const newPlace = () => ({ appId: newId('app'), scopeId: newId('scp'), environment: 'test' }) as const;

let people = 0;

/** A person who was never here before. */
export function newPerson(): VerifiedIdentity & { readonly profile: { readonly email: string } } {
  people += 1;
  const email = `person-${people}@example.com`;
  return { type: 'email', externalId: email, profile: { email } };
}

const walletEvents = eventCodec({
  WalletProvisioned: { data: z.object({ walletId: z.string(), userId: z.string(), address: z.string() }) },
});

/** A stream a wallet, of which a user has one: provisioned by whoever comes first. */
const wallet: StreamType<
  { readonly walletId: string; readonly userId: string; readonly address: string },
  {
    readonly type: 'WalletProvisioned';
    readonly data: { walletId: string; userId: string; address: string };
  },
  string | undefined,
  string
> = {
  category: 'wallet',
  version: 1,
  codec: walletEvents,
  initialState: undefined,
  decide: (address, command) =>
    address === undefined
      ? { events: [{ type: 'WalletProvisioned', data: command }], answer: command.address }
      : { events: [], answer: address, replayed: true },
  evolve: (_, event) => event.data.address,
  sizeOf: () => 100,
};

function specWallets(handler: Pick<CommandHandler, 'execute' | 'load'>): IdentityWallets {
  const placeOf = ({ environment, scopeId, userId }: Owner) => {
    const walletId = idFromParts('wlt', environment, scopeId, userId);
    return { walletId, stream: streamName('wallet', environment, scopeId, walletId) };
  };
  const summary = (id: string, { environment }: Owner, address: string): WalletSummary => ({
    id,
    address,
    environment,
    custody: 'operator',
    status: 'active',
  });
  return {
    async walletsOf(owner) {
      const { walletId, stream } = placeOf(owner);
      const address = await handler.load(wallet, stream, contextOf());
      return address === undefined ? [] : [summary(walletId, owner, address)];
    },
    async provisionWallet(owner, context) {
      const { walletId, stream } = placeOf(owner);
      const command = { walletId, userId: owner.userId, address: newId('wlt') };
      const { answer } = await handler.execute(wallet, stream, command, context);
      return summary(walletId, owner, answer);
    },
  };
}

function walletOwnerIn(event: Parameters<Reaction['effectOf']>[0]): Owner | undefined {
  if (event.type !== 'WalletProvisioned') return undefined;
  const parts = parseStreamName(event.stream);
  if (!parts) return undefined;
  const { userId } = walletEvents.decode(event).data;
  return { environment: parts.environment, scopeId: parts.owner, userId };
}
