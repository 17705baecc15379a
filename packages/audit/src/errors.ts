import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the audit, in order of precedence. */
export const auditErrors = {
  'audit/nothing_chained': {
    status: 404,
    message: 'The chain is empty: no event was ever written, or the projector has not run since.',
  },
  'audit/ordinal_beyond_chain': {
    status: 409,
    message:
      'The chain does not reach this ordinal. If the projector lags, wait; otherwise events and their blocks were removed since the head was noted.',
  },
  'audit/chain_broken': {
    status: 409,
    message: 'The log does not extend the head that was noted: an event up to it is not the one of then.',
  },
  'audit/other_than_chained': {
    status: 409,
    message:
      'The event to import is not the one that was chained at its ordinal. Nothing of it or behind it was imported. Verify the log that it comes from.',
  },
  'audit/chained_events_missing': {
    status: 409,
    message:
      'The events to import end before the chain does. Export the whole log, and import that: the import goes on where it was.',
  },
  'audit/log_corrupt': {
    status: 409,
    message:
      'The stored events, their chain or a snapshot are not as they were written. The faults say where.',
  },
} as const;

export const reject = rejecterFor(auditErrors);
