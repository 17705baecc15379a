/** Gives the reconciliation with the chain what it compares: the app's wallets, its currencies, and their funds. */

import type { Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import type { Logger } from '@coffer/http';
import type { Clock } from '@coffer/kernel';
import type { AppDirectory } from '@coffer/portal';
import { type ChainReconciler, type ChainReport, createChainReconciler } from '@coffer/reconcile';
import { finalFundsOf } from '@coffer/treasury';
import type { OperatorWallets } from '@coffer/wallets';
import type { Chains } from './chains.ts';

/** For the look at one stream. */
const FIND_WITHIN_MS = 10_000;

export function createServiceChainReconciler({
  operatorWallets,
  directory,
  chains,
  logger,
  ...shared
}: {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly chains: Pick<Chains, 'of'>;
  readonly logger: Pick<Logger, 'info'>;
  readonly operatorWallets: Pick<OperatorWallets, 'find'>;
  readonly directory: Pick<AppDirectory, 'currencies'>;
}): ChainReconciler {
  return createChainReconciler({
    pool: shared.pool,
    store: shared.store,
    clock: shared.clock,
    chainOf: chains.of,
    fundsOf: finalFundsOf,
    onDoubt: ({ appId, environment }) =>
      logger.info({ appId, environment }, 'the chain and the books seem to disagree; looking again'),
    async currenciesOf({ appId, environment }) {
      const currencies = await directory.currencies(appId);
      return currencies.flatMap(({ id, code, mint }) => {
        const here = mint[environment];
        return here === null ? [] : [{ id, code, mint: here }];
      });
    },
    async walletsOf(place) {
      const deadlineMs = performance.now() + FIND_WITHIN_MS;
      const [treasury, feePayer] = await Promise.all(
        (['treasury', 'feePayer'] as const).map((role) =>
          operatorWallets.find({ ...place, role }, { deadlineMs }),
        ),
      );
      return { treasury: treasury?.address, feePayer: feePayer?.address };
    },
  });
}

/** As the report is answered: amounts are texts, and money that is missing is a warning with its figure. */
export function chainBodyOf(report: ChainReport) {
  const { checkedAt, mode, treasury, currencies, checks, unattributed, unreadable } = report;
  const { notCovered, discrepancies } = report;
  const codes = new Map(currencies.map(({ mint, code }) => [mint, code]));
  return {
    checkedAt,
    mode,
    treasury,
    currencies: currencies.map(({ code, onChain, liabilities, inFlight, surplus, shortfall }) => ({
      currency: code,
      ok: shortfall === 0n,
      onChain: onChain.toString(),
      liabilities: liabilities.toString(),
      inFlight: inFlight.toString(),
      surplus: surplus.toString(),
    })),
    checks,
    warnings: [
      ...currencies
        .filter(({ shortfall }) => shortfall > 0n)
        .map(({ code, shortfall }) => ({
          code: 'treasury_shortfall',
          subject: code,
          amount: shortfall.toString(),
        })),
      ...unreadable.map((signature) => ({
        code: 'transaction_unreadable',
        subject: signature,
        amount: null,
      })),
    ],
    unattributed: unattributed.map(({ signature, mint, amount }) => ({
      signature,
      currency: codes.get(mint) ?? mint,
      amount: amount.toString(),
    })),
    notCovered: notCovered.map(({ subject, signature, slot }) => {
      return { subject, signature, slot: slot?.toString() ?? null };
    }),
    discrepancies,
  };
}
