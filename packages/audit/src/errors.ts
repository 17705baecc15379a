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
    message: 'The log does not extend the noted head: an event up to it has changed.',
  },
  'audit/other_than_chained': {
    status: 409,
    message:
      'The event to import is not the one that was chained at its ordinal. Neither it nor anything after it was imported. Verify the log that it comes from.',
  },
  'audit/chained_events_missing': {
    status: 409,
    message:
      'The events to import end before the chain does. Export the whole log and import that: the import continues where it stopped.',
  },
  'audit/log_corrupt': {
    status: 409,
    message:
      'The stored events, their chain or a snapshot are not as they were written. The faults say where.',
  },
} as const;

export const reject = rejecterFor(auditErrors);
