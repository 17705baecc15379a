/** The errors of a reconciliation with the log and with the chain. */
import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

export const reconcileErrors = {
  'ledger/integrity_failed': {
    status: 409,
    message:
      'Rows or streams are not what the log says they must be: see `discrepancies`. Tell the operator.',
  },
  'ledger/coverage_incomplete': {
    status: 503,
    message:
      'Not everything could be compared, so there is no result; details give the reason. Ask again later.',
  },
  'chain/integrity_failed': {
    status: 409,
    message:
      'The books and the chain disagree, or the treasury holds less than is owed. The report says where.',
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(reconcileErrors);
