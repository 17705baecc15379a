/** What each type of event says, as the API documents it. Source: contract, Webhooks. */
import assert from 'node:assert/strict';
import type { OutgoingMessage } from '@coffer/http';
import { environment, figure, idText } from '@coffer/kernel';
import { z } from 'zod';
import { EVENT_TYPES, type EventType } from './domain/eventTypes.ts';

const user = z.object({ id: idText('usr'), environment }).meta({ id: 'UserEventData' });

const walletCreated = z
  .object({
    id: idText('wlt'),
    userId: idText('usr'),
    address: z.string().meta({ description: 'In base58.' }),
    custody: z.literal('custodial'),
    status: z.literal('active'),
  })
  .meta({ id: 'WalletCreatedEventData' });

const walletLeft = z
  .object({
    id: idText('wlt').meta({ description: 'The wallet that was replaced.' }),
    userId: idText('usr'),
    environment,
    address: z.string().meta({ description: 'In base58.' }),
    newWalletId: idText('wlt'),
    newAddress: z.string(),
  })
  .meta({ id: 'WalletLeftEventData' });

const compliance = z
  .object({
    id: idText('usr'),
    userId: idText('usr'),
    environment,
    reason: z.string().nullable(),
  })
  .meta({ id: 'ComplianceEventData' });

const move = z
  .object({
    id: idText('mov'),
    ref: z
      .string()
      .meta({ description: 'The ref of the treasury call, or the idempotencyKey of a withdrawal.' }),
    kind: z.enum(['deposit', 'withdraw']),
    userId: idText('usr'),
    currency: z
      .int()
      .nullable()
      .meta({ description: "The app's currency id; null if the mint is not a currency." }),
    amount: figure,
    signature: z.string().nullable().meta({ description: 'Of the transaction, in base58.' }),
    environment,
    code: z.string().nullable().meta({ description: 'Of the currency.' }),
    error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'Why it has failed; otherwise null.' }),
  })
  .meta({ id: 'MoveEventData' });

const DATA = {
  'user.created': user,
  'user.suspended': user,
  'wallet.created': walletCreated,
  'wallet.exported': walletLeft,
  'wallet.migrated': walletLeft,
  'compliance.passed': compliance,
  'compliance.failed': compliance,
  'compliance.review_required': compliance,
  'deposit.received': move,
  'withdrawal.completed': move,
  'withdrawal.failed': move,
} as const satisfies Record<EventType, z.ZodType>;

/** `deposit.received` is `DepositReceivedEvent`. */
const schemaName = (type: EventType): string =>
  `${type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;

const eventOf = (type: EventType) =>
  z
    .object({
      id: idText('evt').meta({ description: 'The same at every delivery.' }),
      type: z.literal(type),
      createdAt: z.iso.datetime(),
      appId: idText('app'),
      environment,
      sequence: z.int().meta({ description: 'Counts the events of the app, from 1.' }),
      data: DATA[type],
      previousSequence: z.int().nullable().meta({
        description: 'The number before it that was for the same subscription, or matches the same request.',
      }),
    })
    .meta({ id: schemaName(type) });

const EVENTS = EVENT_TYPES.map((type) => ({ type, schema: eventOf(type) }));
const [first, ...others] = EVENTS.map(({ schema }) => schema);
assert(first);

/** An event as it is delivered, and as the feeds answer it. */
export const eventSchema = z.discriminatedUnion('type', [first, ...others]).meta({ id: 'WebhookEvent' });

const FIRED_BY: Readonly<Record<EventType, string>> = {
  'user.created': 'A new player has signed in, or was made by an operator.',
  'user.suspended': 'A user was suspended.',
  'wallet.created': 'A user has a wallet, the first one or that after an export.',
  'wallet.exported': 'A user has exported a wallet; wallet.created follows for the new one.',
  'wallet.migrated': 'A user has moved to a wallet with another address.',
  'compliance.passed': 'A compliance check was passed.',
  'compliance.failed': 'A compliance check has failed.',
  'compliance.review_required': 'A compliance check must be looked at.',
  'deposit.received': 'A deposit is confirmed on the chain.',
  'withdrawal.completed': 'A withdrawal or a cash-out is confirmed on the chain.',
  'withdrawal.failed': 'A withdrawal or a cash-out has failed for good.',
};

/** Sent with every delivery. */
const HEADERS = {
  'X-Service-Event': 'The type.',
  'X-Service-Signature':
    't=<unix seconds>,v1=<hex HMAC-SHA256 of t, a dot and the body, by the whole secret>. Two v1 while a secret is replaced.',
  'webhook-id': 'The id of the event.',
  'webhook-timestamp': 'Unix seconds, of the attempt.',
  'webhook-signature': 'That of Standard Webhooks.',
};

export const webhookMessages: readonly OutgoingMessage[] = EVENTS.map(({ type, schema }) => ({
  name: type,
  summary: FIRED_BY[type],
  headers: HEADERS,
  schema,
  success: 'Received. Anything else, or nothing within 10 seconds, is an attempt that has failed.',
}));
