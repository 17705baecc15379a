import { z } from 'zod';

/**
 * Named places where a crash would be worst. In production every call goes to `noFailPoint`; the crash specs start the
 * service with `COFFER_FAIL_POINT=<name>`, and it kills itself there.
 */
export type FailPoint = (name: FailPointName) => void;

export const failPointName = z.enum([
  'open.beforeHold',
  'open.held',
  'open.opened',
  'settle.beforeSettle',
  'settle.settled',
  'settle.closed',
  'lateRollback.rolledBack',
  'lateRollback.credited',
  'deposit.beforeRequest',
  'deposit.requested',
  'cashOut.beforeHold',
  'cashOut.held',
  'cashOut.requested',
  'lock.beforeHold',
  'lock.held',
  'lock.locked',
  'pool.beforeClose',
  'pool.closed',
  'pool.halfCredited',
  'pool.allButOneCredited',
  'pool.credited',
  'sweep.released',
  'sweep.givenBack',
  'signIn.beforeClaim',
  'signIn.claimed',
  'signIn.registered',
  'signIn.provisioned',
  'signIn.kept',
  'erase.erased',
  'erase.destroyed',
  'erase.released',
  'export.exported',
  'export.retired',
  'code.claimed',
  'code.issued',
  'attribution.begun',
  'attribution.finished',
  'payout.beforeDecision',
  'payout.decided',
  'payout.accrued',
  'distribute.beforeDecision',
  'distribute.decided',
  'distribute.accrued',
  'withdraw.beforeEarnings',
  'withdraw.setAside',
  'withdraw.decided',
  'withdraw.credited',
  'move.admitted',
  'move.beforeSign',
  'move.signed',
  'move.sent',
  'move.submitted',
  'move.expired',
  'move.final',
  'move.confirmed',
  'move.released',
]);
export type FailPointName = z.infer<typeof failPointName>;

export const noFailPoint: FailPoint = () => undefined;
