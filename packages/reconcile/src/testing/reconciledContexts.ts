/** The ledger, reconciled, in an installation without a chain. */
import { defineContext } from '@coffer/host';
import { LEDGER_CONTEXTS } from '@coffer/ledger/testing';
import { chainContext, movesContext } from '@coffer/moves';
import { noChains } from '@coffer/solana';
import { finalFundsOf } from '@coffer/treasury';
import { reconcileContext } from '../context.ts';

const installation = defineContext({
  name: 'installation',
  create: () => ({
    provides: {
      chains: noChains,
      operatorWallets: { find: async () => undefined },
      finalFundsOf,
      scrubPassMs: 1_000,
      chainReconciling: {},
    },
  }),
});

export const RECONCILED_CONTEXTS = LEDGER_CONTEXTS.with(chainContext)
  .with(installation)
  .with(movesContext)
  .with(reconcileContext);
