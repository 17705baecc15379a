import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the admin API, in order of precedence. */
export const portalErrors = {
  'portal/app_not_found': {
    status: 404,
    message: 'There is no such app. `coffer apps list` lists the apps.',
  },
  'portal/role_not_allowed': {
    status: 403,
    message: 'This portal session may look at the app, but change nothing. Changes take the role admin.',
  },
  'portal/environment_not_found': {
    status: 404,
    message: 'The environment in the path must be "test" or "live".',
  },
  'portal/scope_not_found': {
    status: 404,
    message: 'No app has this scope. Name the scope of an existing app, or none to create a new scope.',
  },
  'portal/key_not_found': {
    status: 404,
    message: 'The app has no such key in this environment. `coffer keys list` lists its keys.',
  },
  'portal/key_ambiguous': {
    status: 409,
    message: 'Several keys match. Name one of those in the details as keyId (--key on the command line).',
  },
  'portal/key_inactive': {
    status: 409,
    message: 'The key is revoked or was already rotated, so it cannot be rotated. Create a new one.',
  },
  'portal/unknown_currency': {
    status: 404,
    message: 'The app has no such currency. `coffer currencies list` lists its currencies.',
  },
  'portal/currency_exists': {
    status: 409,
    message:
      'The app has another currency under this id or code. A currency never changes: choose another id and code.',
  },
  'portal/mint_not_supported': {
    status: 409,
    message:
      'This mint cannot be a currency: the details say in which environment, and why. A currency never changes, so nothing was added.',
  },
  'portal/unknown_setting': {
    status: 400,
    message:
      'There is no such setting. The details list the settings; a name may be prefixed with "test." or "live.".',
  },
  'portal/invalid_setting': {
    status: 400,
    message: 'The value does not fit the setting. The details say why; nothing was set.',
  },
  'portal/idempotency_conflict': {
    status: 409,
    message: 'This Idempotency-Key was used with other content. Use a new key for a new request.',
  },
  'portal/stream_not_found': {
    status: 404,
    message: 'There is no such stream. `coffer streams list` lists the streams.',
  },
  'portal/invalid_position': {
    status: 400,
    message: 'This is not a position of this log. Give the `position` of an exported event, unchanged.',
  },
  'portal/consumer_not_found': {
    status: 404,
    message: 'There is no such consumer. `coffer consumers list` lists the consumers.',
  },
  'portal/consumer_not_skippable': {
    status: 409,
    message:
      'The hash chain skips nothing: it proves something only if it covers every event. See docs/operating/auditing.md.',
  },
  'portal/already_skipped': {
    status: 409,
    message:
      'The event is already skipped, with another reason, which is in the details. Nothing was changed.',
  },
  'portal/not_stopped_there': {
    status: 409,
    message:
      'The consumer is not stopped at this event. The details say where it is stopped, if anywhere. Nothing was changed.',
  },
  'portal/rebuild_under_way': {
    status: 409,
    message: 'The read models are already being rebuilt. Wait for that to end.',
  },
  'portal/poison_event': {
    status: 409,
    message: 'The read models cannot process an event in the log. Nothing was changed; the live rows stay.',
  },
  'portal/log_rewritten': {
    status: 409,
    message:
      'The live read models were derived from another log. Nothing was changed. See docs/operating/restore.md.',
  },
  'portal/log_not_empty': {
    status: 409,
    message:
      'The log holds other events than those to import, or more of them. Nothing was changed. Import into an empty log, or into one that the export continues.',
  },
  'portal/invalid_line': {
    status: 400,
    message:
      'This line is not one that `coffer streams export` printed, or does not follow the lines before it. Neither it nor anything after it was imported.',
  },
  'portal/read_models_differ': {
    status: 409,
    message:
      'Rows of the live read models are not what the log says; nothing was changed. Without --verify, the new ones replace them.',
  },
  'portal/read_models_behind': {
    status: 503,
    message:
      'The read models have not reached the requested event. Is the projector running? Ask again later.',
  },
} as const;

export const reject = rejecterFor(portalErrors);
