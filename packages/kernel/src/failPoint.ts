/**
 * Named places where a crash would be worst. In production every call is to `noFailPoint`; the crash specs
 * start the service with `COFFER_FAIL_POINT=<name>`, and it kills itself there.
 */
export type FailPoint = (name: FailPointName) => void;

export type FailPointName =
  | 'open.beforeHold'
  | 'open.held'
  | 'open.opened'
  | 'settle.beforeSettle'
  | 'settle.settled'
  | 'settle.closed'
  | 'lateRollback.rolledBack'
  | 'lateRollback.credited';

export const noFailPoint: FailPoint = () => undefined;
