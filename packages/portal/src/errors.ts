import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the admin API, in order of precedence. */
export const portalErrors = {
  'portal/app_not_found': {
    status: 404,
    message: 'There is no such app. `coffer apps list` shows those there are.',
  },
  'portal/environment_not_found': {
    status: 404,
    message: 'The environment in the path is "test" or "live".',
  },
  'portal/scope_not_found': {
    status: 404,
    message: 'No app has this scope. Name the scope of an existing app, or none for a scope of its own.',
  },
  'portal/key_not_found': {
    status: 404,
    message: 'The app has no such key in this environment. `coffer keys list` shows those there are.',
  },
  'portal/key_ambiguous': {
    status: 409,
    message: 'Several keys are meant by this. Name one of those in the details.',
  },
  'portal/key_inactive': {
    status: 409,
    message: 'The key is revoked or was rotated before, so it cannot be rotated. Create a new one.',
  },
  'portal/unknown_currency': {
    status: 404,
    message: 'The app has no such currency. `coffer currencies list` shows those there are.',
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
      'There is no such setting. The details list those there are; "test." and "live." may stand before.',
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
    message: 'There is no such stream. `coffer streams list` shows those there are.',
  },
  'portal/invalid_position': {
    status: 400,
    message: 'This is not a position of this log. Give the `position` of an exported event, unchanged.',
  },
  'portal/consumer_not_found': {
    status: 404,
    message: 'There is no such consumer. `coffer consumers list` shows those there are.',
  },
  'portal/consumer_not_skippable': {
    status: 409,
    message:
      'The hash chain holds every event of the log, or it proves nothing: it skips none. See docs/operating/auditing.md.',
  },
  'portal/already_skipped': {
    status: 409,
    message: 'The event is skipped already, for another reason: the details have it. Nothing was changed.',
  },
  'portal/not_stopped_there': {
    status: 409,
    message:
      'The consumer is not stopped at this event. The details say where it is stopped, if anywhere. Nothing was changed.',
  },
  'portal/rebuild_under_way': {
    status: 409,
    message: 'The read models are being rebuilt already. Wait for the end of that.',
  },
  'portal/poison_event': {
    status: 409,
    message: 'The read models cannot take an event of the log. Nothing was changed; the live rows stay.',
  },
  'portal/log_rewritten': {
    status: 409,
    message:
      'The live read models were made of another log than the one there is. Nothing was changed. See docs/operating/restore.md.',
  },
  'portal/log_not_empty': {
    status: 409,
    message:
      'The log holds another event than the one to import, or more of them. Nothing was changed. Import into an empty log, or all that the log holds and what follows.',
  },
  'portal/invalid_line': {
    status: 400,
    message:
      'This line is not one that `coffer streams export` printed, or does not follow from those before it. Nothing of it or behind it was imported.',
  },
  'portal/read_models_differ': {
    status: 409,
    message:
      'Rows of the live read models are not what the log says; nothing was changed. Without --verify the new ones take their place.',
  },
  'portal/read_models_behind': {
    status: 503,
    message:
      'The read models have not reached the event asked for. Is the projector running? Ask again later.',
  },
} as const;

export const reject = rejecterFor(portalErrors);
