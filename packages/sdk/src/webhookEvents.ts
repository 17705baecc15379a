/** The events of an app, as webhooks deliver them and the feed answers them. Source: specification, Events. */
import type { Fields } from './answers.ts';
import type * as api from './api.ts';
import { readerOf } from './resources.ts';

interface Events {
  readonly 'user.created': api.UserCreatedEvent;
  readonly 'user.suspended': api.UserSuspendedEvent;
  readonly 'wallet.created': api.WalletCreatedEvent;
  readonly 'wallet.exported': api.WalletExportedEvent;
  readonly 'wallet.migrated': api.WalletMigratedEvent;
  readonly 'compliance.passed': api.CompliancePassedEvent;
  readonly 'compliance.failed': api.ComplianceFailedEvent;
  readonly 'compliance.review_required': api.ComplianceReviewRequiredEvent;
  readonly 'deposit.received': api.DepositReceivedEvent;
  readonly 'withdrawal.completed': api.WithdrawalCompletedEvent;
  readonly 'withdrawal.failed': api.WithdrawalFailedEvent;
}
export type WebhookEventType = keyof Events;

/** Sent by the portal or `coffer webhooks test`: it tells of nothing, and no event of an app has its sequence. */
export interface TestWebhookEvent
  extends Pick<api.UserCreatedEvent, 'id' | 'createdAt' | 'appId' | 'environment'> {
  readonly type: WebhookEventType;
  readonly sequence: 0;
  readonly previousSequence: null;
  readonly data: { readonly test: true };
}

/**
 * What has happened in an app: `type` decides the type of `data`. A newer service may send further types: leave a
 * `default` for them.
 */
export type AppEvent = Events[WebhookEventType];

/** Rule out tests first, by `webhooks.isTest`. */
export type WebhookEvent = AppEvent | TestWebhookEvent;

const READERS: { readonly [Type in WebhookEventType]: (fields: Fields) => Events[Type] } = {
  'user.created': readerOf('UserCreatedEvent'),
  'user.suspended': readerOf('UserSuspendedEvent'),
  'wallet.created': readerOf('WalletCreatedEvent'),
  'wallet.exported': readerOf('WalletExportedEvent'),
  'wallet.migrated': readerOf('WalletMigratedEvent'),
  'compliance.passed': readerOf('CompliancePassedEvent'),
  'compliance.failed': readerOf('ComplianceFailedEvent'),
  'compliance.review_required': readerOf('ComplianceReviewRequiredEvent'),
  'deposit.received': readerOf('DepositReceivedEvent'),
  'withdrawal.completed': readerOf('WithdrawalCompletedEvent'),
  'withdrawal.failed': readerOf('WithdrawalFailedEvent'),
};

const isKnown = (type: string): type is WebhookEventType => Object.hasOwn(READERS, type);

export const isTest = (event: Pick<WebhookEvent, 'sequence'>): event is TestWebhookEvent =>
  event.sequence === 0;

/** Throws `sdk/unexpected_answer`. */
export const readWebhookEvent = (fields: Fields): WebhookEvent =>
  isTest({ sequence: fields.number('sequence') })
    ? (fields.raw as unknown as TestWebhookEvent) // Handed over as it came.
    : readAppEvent(fields);

/** Throws `sdk/unexpected_answer`. */
export function readAppEvent(fields: Fields): AppEvent {
  const type = fields.text('type');
  // A type that this version does not know is handed over as it came.
  return isKnown(type) ? READERS[type](fields) : (fields.raw as unknown as AppEvent);
}
