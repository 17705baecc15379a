/** Sign-in, plus funds and play for signed-in players. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { ledgerContext } from '@coffer/ledger';
import { AUTH_CONTEXTS } from './authContexts.ts';

export const PLAY_CONTEXTS = AUTH_CONTEXTS.with(auditContext).with(accountsContext).with(ledgerContext);
