/** What a process may do; by default all of it. Source: architecture, Running it. */
export const roles = [
  'api',
  'projector',
  'process-manager',
  'chain-worker',
  'webhook-emitter',
  'webhook-sender',
  'kafka-relay',
  'reconciler',
] as const;
export type Role = (typeof roles)[number];
