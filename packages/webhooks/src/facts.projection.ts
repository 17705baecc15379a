/** Which facts of the log leave the service, and what is said of them. Source: contract, Webhooks. */
import { accountEvents, cashOutHoldId, depositEntryId, parseAccountStream } from '@coffer/accounts';
import type { RecordedEvent } from '@coffer/event-store';
import { decodeMetadata, type Environment, parseStreamName, type StreamNameParts } from '@coffer/kernel';
import { moveEvents, moveStreamName, treasuryMovePlace } from '@coffer/moves';
import { userEvents } from '@coffer/users';
import { walletEvents } from '@coffer/wallets';
import type { EventType } from './domain/eventTypes.ts';

/** The apps that a fact is for: one, or all of a scope. */
type Audience = { readonly appId: string } | { readonly scopeId: string };

export interface Fact {
  readonly type: EventType;
  readonly audience: Audience;
  readonly environment: Environment;
  /** Whom or what it is about. */
  readonly objectId: string;
  readonly userId: string;
  /** ISO 8601: when it happened, which an imported log repeats. */
  readonly occurredAt: string;
  /** `code` of a currency is added later: no event has it. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The currency whose code belongs in the data. */
  readonly currency?: { readonly appId: string; readonly currencyId: number | null };
  /** Why a move has failed. */
  readonly errorCode?: string;
}

/**
 * In the order in which they are numbered. Most events of the log are bets, which are not even parsed. An event that books
 * the end of a move tells that end.
 */
export function factsOf(event: RecordedEvent, bookedEnd?: RecordedEvent): readonly Fact[] {
  const subject = bookedEnd ?? event;
  const told = TELLERS.find(({ prefix }) => subject.stream.startsWith(prefix));
  if (!told?.types.has(subject.type)) return [];
  const place = parseStreamName(subject.stream);
  if (!place) return [];
  const { occurredAt } = decodeMetadata(event.metadata);
  const isBooked = bookedEnd !== undefined;
  return told
    .tell(subject, place, isBooked)
    .map((fact) => ({ environment: place.environment, occurredAt, ...fact }));
}

/**
 * The stream of the move of the treasury that the event may book. Such a move is told once the player's account has the
 * funds, and not when the chain has moved them: whoever is told may spend them.
 */
export function moveBookedBy(recorded: RecordedEvent): string | undefined {
  if (recorded.type !== 'AccountCredited' && recorded.type !== 'HoldClosed') return undefined;
  const account = parseAccountStream(recorded.stream);
  const ref = account && refBookedBy(recorded);
  return ref && moveStreamName(treasuryMovePlace(account.environment, account.appId, ref));
}

function refBookedBy(recorded: RecordedEvent): string | undefined {
  const { type, data } = accountEvents.decode(recorded);
  if (type === 'AccountCredited') return textAfter(depositEntryId(''), data.entryId);
  if (type === 'HoldClosed') return textAfter(cashOutHoldId(''), data.holdId);
  return undefined;
}

const textAfter = (start: string, text: string): string | undefined =>
  text.startsWith(start) ? text.slice(start.length) : undefined;

type Told = Omit<Fact, 'environment' | 'occurredAt'>;

interface Teller {
  readonly prefix: string;
  readonly types: ReadonlySet<string>;
  readonly tell: (event: RecordedEvent, place: StreamNameParts, isBooked: boolean) => readonly Told[];
}

const TELLERS: readonly Teller[] = [
  {
    prefix: 'user-',
    types: new Set(['UserRegistered', 'UserSuspended', 'ComplianceDecided']),
    tell(recorded, { owner: scopeId, environment, id: userId }) {
      const event = userEvents.decode(recorded);
      const about = { audience: { scopeId }, objectId: userId, userId };
      switch (event.type) {
        case 'UserRegistered':
          return [{ ...about, type: 'user.created', data: { id: userId, environment } }];
        case 'UserSuspended':
          return [{ ...about, type: 'user.suspended', data: { id: userId, environment } }];
        case 'ComplianceDecided': {
          const { decision, reason } = event.data;
          const data = { id: userId, userId, environment, reason: reason ?? null };
          return [{ ...about, type: `compliance.${decision}`, data }];
        }
        default:
          return [];
      }
    },
  },
  {
    prefix: 'wallet-',
    types: new Set(['WalletProvisioned', 'WalletExported', 'WalletMigrated']),
    tell(recorded, { owner: scopeId, environment }) {
      const event = walletEvents.decode(recorded);
      switch (event.type) {
        case 'WalletProvisioned': {
          const { walletId: id, userId, address, generation } = event.data;
          // A later one is told with the wallet that it replaces: only that event says why.
          if (generation > 1) return [];
          return [walletCreated({ scopeId }, { id, userId, address })];
        }
        case 'WalletExported': {
          const { newWalletId, newAddress, userId } = event.data;
          return [
            { ...walletLeft({ scopeId }, environment, event.data), type: 'wallet.exported' },
            walletCreated({ scopeId }, { id: newWalletId, userId, address: newAddress }),
          ];
        }
        case 'WalletMigrated':
          return [{ ...walletLeft({ scopeId }, environment, event.data), type: 'wallet.migrated' }];
        default:
          return [];
      }
    },
  },
  {
    prefix: 'move-',
    types: new Set(['MoveConfirmed', 'MoveFailed']),
    tell(recorded, { environment, id }, isBooked) {
      const event = moveEvents.decode(recorded);
      if (event.type !== 'MoveConfirmed' && event.type !== 'MoveFailed') return [];
      const { operation, key: ref, appId, userId, currencyId, amount, signature } = event.data;
      const type = typeOfMove(operation, event.type, isBooked);
      if (!type) return [];
      const kind = operation === 'deposit' ? 'deposit' : 'withdraw';
      const data = {
        id,
        ref,
        kind,
        userId,
        currency: currencyId,
        amount: String(amount),
        signature,
        environment,
      };
      return [
        {
          type,
          audience: { appId },
          objectId: id,
          userId,
          data,
          currency: { appId, currencyId },
          ...(event.type === 'MoveFailed' && { errorCode: event.data.code }),
        },
      ];
    },
  },
];

/**
 * A withdrawal from a wallet is in no account, and told at its end. A failed deposit and the forwarding of what reached
 * a replaced wallet are not told.
 */
function typeOfMove(
  operation: string,
  end: 'MoveConfirmed' | 'MoveFailed',
  isBooked: boolean,
): EventType | undefined {
  if (isBooked === (operation === 'withdraw') || operation === 'sweep') return undefined;
  if (operation === 'deposit') return end === 'MoveConfirmed' ? 'deposit.received' : undefined;
  return end === 'MoveConfirmed' ? 'withdrawal.completed' : 'withdrawal.failed';
}

const walletCreated = (
  audience: Audience,
  wallet: { readonly id: string; readonly userId: string; readonly address: string },
): Told => ({
  type: 'wallet.created',
  audience,
  objectId: wallet.id,
  userId: wallet.userId,
  data: { ...wallet, custody: 'custodial', status: 'active' },
});

const walletLeft = (
  audience: Audience,
  environment: Environment,
  {
    walletId: id,
    userId,
    address,
    newWalletId,
    newAddress,
  }: Readonly<Record<'walletId' | 'userId' | 'address' | 'newWalletId' | 'newAddress', string>>,
): Omit<Told, 'type'> => ({
  audience,
  objectId: id,
  userId,
  data: { id, userId, environment, address, newWalletId, newAddress },
});
