/** The types of events. Source: spec, Event types. */
export const EVENT_TYPES = [
  'user.created',
  'user.suspended',
  'wallet.created',
  'wallet.exported',
  'wallet.migrated',
  'compliance.passed',
  'compliance.failed',
  'compliance.review_required',
  'deposit.received',
  'withdrawal.completed',
  'withdrawal.failed',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
