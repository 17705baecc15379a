/** What a reconciliation against the chain may come to. */
export const reconcileErrors = {
  'chain/integrity_failed': {
    status: 409,
    message:
      'The books and the chain disagree, or the treasury holds less than is owed. The report says where.',
  },
} as const;
