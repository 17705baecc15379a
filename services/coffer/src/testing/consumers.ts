/** The consumers that every installation has, by their names in `records.consumers` and in metrics. */
export const CONSUMERS = [
  'readModels',
  'holds',
  'identities',
  'chainWorkerTest',
  'chainWorkerLive',
  'webhooks',
  'chain',
] as const;
