/** Streams, rows and books compared with each other, and the books with the chain. */
import { hostname } from 'node:os';
import { defineContext, type Platform } from '@coffer/host';
import type { AppDirectory, EventSkips } from '@coffer/portal';
import type { Chains } from '@coffer/solana';
import { startBearingOut } from './chain/bearingOut.ts';
import { type ChainReconcilerDependencies, createChainReconciler } from './chain/chainReconciler.ts';
import { reconcileErrors } from './errors.ts';
import { reconcileMigrations } from './migrations.ts';
import { operatorReconcileEndpoint } from './operatorRoutes.ts';
import { createReconciler } from './reconciler.ts';
import { type BooksPlace, CoverageIncompleteError } from './report.ts';
import { reconcileEndpoint } from './routes.ts';
import { createBooksScrub } from './scrub/booksScrub.ts';
import type { LogScrub } from './scrub/scrub.ts';
import { createScrubber } from './scrub/scrubber.ts';
import type { TransactionUseOf } from './transactionUuids.ts';
import type { VerifiedDependencies } from './verified.ts';

/** For reading one stream. */
const FIND_WITHIN_MS = 10_000;

export interface ReconcileNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly skips: Pick<EventSkips, 'isSkipped' | 'standing'>;
  /** Every app in both environments. */
  readonly places: () => Promise<readonly BooksPlace[]>;
  readonly chains: Chains;
  readonly operatorWallets: OperatorWallets;
  readonly transactionUseOf: TransactionUseOf;
  readonly chainOfLog: VerifiedDependencies['chain'];
  readonly logScrub: LogScrub;
  readonly finalFundsOf: ChainReconcilerDependencies['fundsOf'];
  /** The time in which the scrub checks everything once. */
  readonly scrubPassMs: number;
  /** How often the ends of moves are looked up on the chain, and when a problem is looked at again. */
  readonly chainReconciling: { readonly bearOutEveryMs?: number; readonly againAfterMs?: number };
}

interface OperatorWallets {
  readonly find: (
    place: BooksPlace & { readonly role: 'treasury' | 'feePayer' },
    deadline: { readonly deadlineMs: number },
  ) => Promise<{ readonly address: string } | undefined>;
}

export const reconcileContext = defineContext({
  name: 'reconcile',
  errors: reconcileErrors,
  errorOf(error) {
    if (!(error instanceof CoverageIncompleteError)) return undefined;
    const { gap, message } = error;
    return { code: 'ledger/coverage_incomplete', details: { reason: gap, explanation: message } };
  },
  migrations: [reconcileMigrations],
  create(needs: ReconcileNeeds) {
    const { pool, patientPool, store, clock, logger, whole, directory, skips, places, chains } = needs;
    const { bearOutEveryMs: everyMs, againAfterMs } = needs.chainReconciling;
    const reconciling = {
      pool: patientPool,
      store,
      clock,
      projections: whole.projections,
      transactionUseOf: needs.transactionUseOf,
      chain: needs.chainOfLog,
      process: {
        name: 'holds',
        // Complete once all contexts are created.
        get reactions() {
          return whole.reactionsOf('holds');
        },
      },
      isSkipped: skips.isSkipped,
      skipsOf: async ({ appId, environment }: BooksPlace) => {
        const scopeId = (await directory.app(appId))?.scopeId;
        return skips.standing(environment, scopeId === undefined ? [appId] : [appId, scopeId]);
      },
    };
    const reconciler = createReconciler(reconciling);
    const chainReconciler = createChainReconciler({
      pool: patientPool,
      store,
      clock,
      chainOf: chains.of,
      fundsOf: needs.finalFundsOf,
      ...(againAfterMs !== undefined && { againAfterMs }),
      onDoubt: ({ appId, environment }) =>
        logger.info({ appId, environment }, 'the chain and the books seem to disagree; looking again'),
      currenciesOf: (place) => currenciesOn(directory, place),
      walletsOf: (place) => walletsOf(needs.operatorWallets, place),
    });
    const hasChain = (environment: BooksPlace['environment']) => chains.find(environment) !== undefined;
    return {
      provides: {
        reconciler,
        chainReconciler,
        scrubber: createScrubber({
          pool,
          clock,
          owner: `${hostname()}:${process.pid}`,
          passMs: needs.scrubPassMs,
          log: needs.logScrub,
          books: createBooksScrub(reconciling),
          places,
        }),
      },
      endpoints: [
        reconcileEndpoint(reconciler, directory),
        operatorReconcileEndpoint({ directory, reconciler, chainReconciler, chains }),
      ],
      workers: [
        { start: () => ({ stop: reconciler.close }) },
        { start: () => ({ stop: chainReconciler.close }) },
        {
          role: 'chain-worker',
          start: () =>
            startBearingOut({
              pool: patientPool,
              bearOut: chainReconciler.bearOut,
              hasChain,
              ...(everyMs !== undefined && { everyMs }),
              onTrouble: (error, place) =>
                logger.info({ ...place, err: error }, 'the ends of moves were not looked for on the chain'),
            }),
        },
      ],
    };
  },
});

async function currenciesOn(directory: Pick<AppDirectory, 'currencies'>, { appId, environment }: BooksPlace) {
  const currencies = await directory.currencies(appId);
  return currencies.flatMap(({ id, code, mint }) => {
    const here = mint[environment];
    return here === null ? [] : [{ id, code, mint: here }];
  });
}

async function walletsOf(operatorWallets: OperatorWallets, place: BooksPlace) {
  const deadlineMs = performance.now() + FIND_WITHIN_MS;
  const [treasury, feePayer] = await Promise.all(
    (['treasury', 'feePayer'] as const).map((role) =>
      operatorWallets.find({ ...place, role }, { deadlineMs }),
    ),
  );
  return { treasury: treasury?.address, feePayer: feePayer?.address };
}
