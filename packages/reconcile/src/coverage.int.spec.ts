/**
 * What a reconciliation does not claim: it lists what is in flight, and never passes what it could not cover.
 */

import { chainOfLog } from '@coffer/audit';
import type { Pool } from '@coffer/database';
import { type EventStore, OutcomeUnknownError } from '@coffer/event-store';
import { requireStatus } from '@coffer/host/testing';
import { systemClock } from '@coffer/kernel';
import { transactionUseOf } from '@coffer/ledger';
import { useLedger } from '@coffer/ledger/testing';
import { eventually, itLogTable } from '@coffer/testing';
import { expect } from 'chai';
import { createReconciler } from './reconciler.ts';
import { type BooksPlace, CoverageIncompleteError, type Report } from './report.ts';
import { RECONCILED_CONTEXTS } from './testing/reconciledContexts.ts';

describe('A reconciliation', () => {
  describe('while a settlement is on its way', () => {
    let losesCloses = true;
    const ledger = useLedger({
      contexts: RECONCILED_CONTEXTS,
      roles: ['api', 'projector'],
      config: { requestTimeoutMs: 300 },
      wrapStore: (store) => ({
        ...store,
        async append(request) {
          const closes = request.events.some(({ type }) => type === 'HoldClosed');
          if (closes && losesCloses) throw new OutcomeUnknownError('The spec has lost it.');
          return store.append(request);
        },
      }),
    });

    it('lists it, and counts it against nobody', async () => {
      const { sessionId, userId } = await ledger.test.newSession('100');
      requireStatus(await ledger.test.settle({ sessionId }), 503);
      const { json } = requireStatus(await ledger.test.reconcile(), 200);
      expect(json.inFlight).to.deep.equal([
        {
          reaction: 'payOutSession',
          subject: `account-test.${ledger.app.appId}.${userId}.2 session:${sessionId}`,
        },
      ]);

      losesCloses = false;
      requireStatus(await ledger.test.settle({ sessionId }), 200);
      expect(requireStatus(await ledger.test.reconcile(), 200).json.inFlight).to.deep.equal([]);
    });

    it('in another app does not concern this one', async () => {
      losesCloses = true;
      const { sessionId } = await ledger.live.newSession('100');
      requireStatus(await ledger.live.settle({ sessionId }), 503);
      expect(requireStatus(await ledger.test.reconcile(), 200).json.inFlight).to.deep.equal([]);
    });
  });

  describe('that cannot cover everything', () => {
    let pool: Pool;
    let store: EventStore;
    const ledger = useLedger({ contexts: RECONCILED_CONTEXTS, roles: ['api', 'projector'] });
    before(() => {
      ({ pool, store } = ledger.world);
    });

    const place = (): BooksPlace => ({ appId: ledger.app.appId, environment: 'test' });
    const dependencies = () => ({
      pool,
      store,
      clock: systemClock,
      projections: RECONCILED_CONTEXTS.facts.projections,
      transactionUseOf,
      chain: chainOfLog,
      process: { name: 'holds', reactions: [payOut] },
    });
    const run = async (limits: {
      readModelsWithinMs?: number;
      inFlightWithinMs?: number;
    }): Promise<Report> => {
      const reconciler = createReconciler({ ...dependencies(), limits });
      try {
        return await reconciler.reconcile({ ...place(), mode: 'incremental', withinMs: 20_000 });
      } finally {
        await reconciler.close();
      }
    };
    const gapOf = async (limits: Parameters<typeof run>[0]) => {
      const failure = await run(limits).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(CoverageIncompleteError);
      return (failure as CoverageIncompleteError).gap;
    };

    it('says that an old decision has not reached its account', async () => {
      const { sessionId } = await ledger.test.newSession('100');
      requireStatus(await ledger.test.settle({ sessionId }), 200);
      expect((await run({})).inFlight).to.have.length(1);
      expect(await gapOf({ inFlightWithinMs: 0 })).to.equal('process_behind');
    });

    it('says that the read models are behind', async () => {
      await pool.query(`update read_v1.consumers set owner = 'another', epoch = epoch + 1,
                          leased_until = clock_timestamp() + interval '1 hour'`);
      await ledger.test.newUser();
      expect(await gapOf({ readModelsWithinMs: 50 })).to.equal('read_models_behind');
      await pool.query('update read_v1.consumers set owner = null, leased_until = null');
      await run({});
    });

    itLogTable('its last rows are removed', 'says that the log was put back to an older state', async () => {
      await run({});
      await pool.query('create table kept as select * from log.events order by position desc limit 3');
      await pool.query('delete from log.events where position in (select position from kept)');
      expect(await gapOf({ readModelsWithinMs: 50 })).to.equal('log_rewritten');
      await pool.query('insert into log.events select * from kept');
      expect((await run({})).ok).to.equal(true);
    });

    it('says that it is still running, and the next one gets its result', async () => {
      const reconciler = createReconciler(dependencies());
      const request = { ...place(), mode: 'full', withinMs: 0 } as const;
      const failure = await reconciler.reconcile(request).catch((error: unknown) => error);
      expect(failure).to.have.property('gap', 'still_running');
      expect(await reconciler.reconcile({ ...request, withinMs: 20_000 })).to.include({
        ok: true,
        mode: 'full',
      });
      await reconciler.close();
    });

    for (const where of ['in this process', 'in another one']) {
      it(`rests only until somebody waits for it, or for another behind it, ${where}`, async () => {
        await ledger.test.newUser();
        const begun = Promise.withResolvers<void>();
        const seen: boolean[] = [];
        const here = createReconciler(dependencies(), ({ isAwaited }) => ({
          isAwaited,
          isUnhurried: () => true,
          isLate: () => false,
          async rest() {
            seen.push(await isAwaited());
            begun.resolve();
            await eventually('somebody waits', async () => (await isAwaited()) || undefined);
          },
        }));
        const there = where === 'in this process' ? here : createReconciler(dependencies());
        const request = { ...place(), mode: 'full', withinMs: 20_000 } as const;
        const unhurried = here.reconcile({ ...request, isUnhurried: true });
        await begun.promise;
        const other = there.reconcile({ ...request, environment: 'live' });
        for (const report of await Promise.all([unhurried, other])) expect(report.ok).to.equal(true);
        expect(seen[0]).to.equal(false);
        await Promise.all([here.close(), there.close()]);
      });
    }
  });
});

/** Every settlement is still to be paid out, as far as this reaction can see. */
const payOut = {
  name: 'payOutSession',
  causeOf: ({ type, stream }: { readonly type: string; readonly stream: string }) =>
    type === 'SessionSettled'
      ? { key: `${stream.replace('playSession', 'account')} never`, target: stream }
      : undefined,
  effectOf: () => undefined,
  act: async () => undefined,
};
