/** The parts of the service. Each context is given what the installation and the contexts before it provide. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { authContext } from '@coffer/auth';
import { chainWorkerContext, rentContext } from '@coffer/chain-worker';
import { custodyContext } from '@coffer/custody';
import { contexts } from '@coffer/host';
import { kafkaContext } from '@coffer/kafka';
import { ledgerContext } from '@coffer/ledger';
import { chainContext, movesContext } from '@coffer/moves';
import { portalContext } from '@coffer/portal';
import { reconcileContext } from '@coffer/reconcile';
import { reconcilerContext } from '@coffer/reconciler';
import { referralsContext } from '@coffer/referrals';
import { treasuryContext } from '@coffer/treasury';
import { usersContext } from '@coffer/users';
import { walletsContext } from '@coffer/wallets';
import { webhooksContext } from '@coffer/webhooks';
import type { Installation } from './installation.ts';

export const CONTEXTS = contexts<Installation>()
  .with(chainContext)
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(movesContext)
  .with(rentContext)
  .with(walletsContext)
  .with(referralsContext)
  .with(authContext)
  .with(treasuryContext)
  .with(ledgerContext)
  .with(custodyContext)
  .with(webhooksContext)
  .with(kafkaContext)
  .with(reconcileContext)
  .with(chainWorkerContext)
  .with(reconcilerContext);
