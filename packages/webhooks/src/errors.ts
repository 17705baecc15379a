import { rejecterFor } from '@coffer/kernel';

/** Every refusal around webhooks, in order of precedence. */
export const webhookErrors = {
  'webhooks/not_found': {
    status: 404,
    message: 'The app has no such subscription. `coffer webhooks list` lists its subscriptions.',
  },
  'webhooks/url_not_allowed': {
    status: 400,
    message:
      'Webhooks cannot be sent to this URL. It must be https, on port 80, 443 or from 1024, without a user, and lead to a public address.',
  },
  'webhooks/too_many_subscriptions': {
    status: 409,
    message: 'The app has as many subscriptions as it may have; the details say how many. Delete one first.',
  },
  'webhooks/disabled': {
    status: 409,
    message: 'The subscription is disabled, so nothing is sent to it. Enable it first.',
  },
  'webhooks/events_pruned': {
    status: 410,
    message:
      'Events after this number are no longer kept. Go on after the number in the details, and read from elsewhere what was before.',
  },
} as const;

export const reject = rejecterFor(webhookErrors);
