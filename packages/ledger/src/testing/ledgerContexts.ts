/** The ledger and what it stands on. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { contexts } from '@coffer/host';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { usersContext } from '@coffer/users';
import { ledgerContext } from '../context.ts';

export const LEDGER_CONTEXTS = contexts<PortalGiven>()
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(ledgerContext);
