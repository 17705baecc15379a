/** What operators wait for when the log is long: a verification and a full reconciliation, against bare pages of the log. */
import { createPool } from '@coffer/database';
import { z } from 'zod';
import { selectBare } from './bareLog.ts';
import type { Run } from './children.ts';
import { placeBets } from './httpRows.ts';
import { withService } from './largeState.ts';
import type { BenchPlan } from './plan.ts';
import type { ServiceUnderTest } from './service.ts';

/** Events a second, one figure per round, in turns: bare, verify, reconcile. */
export interface LogReadingFigures {
  readonly events: number;
  readonly bare: readonly number[];
  readonly verify: readonly number[];
  readonly reconcile: readonly number[];
}

const BETS = 300_000;
const TASK_LIMIT_MS = 300_000;

const resultLine = z.object({
  kind: z.literal('result'),
  result: z.looseObject({ ok: z.boolean(), unchained: z.int().optional() }),
});

export function measureLogReading(run: Run, plan: BenchPlan): Promise<LogReadingFigures> {
  return withService(run, plan, {}, async (service, bench) => {
    run.progress(`filling up to ${BETS} bets`);
    await placeBets(bench, BETS);
    const pool = createPool({
      connectionString: service.databaseUrl,
      applicationName: 'coffer-bench',
      onIdleError: (error) => {
        throw error;
      },
    });
    try {
      return await inTurns(run, service, plan.logReadingRounds, () =>
        selectBare(pool, 'log.events', Infinity),
      );
    } finally {
      await pool.end();
    }
  });
}

async function inTurns(
  run: Run,
  service: ServiceUnderTest,
  rounds: number,
  selectAll: () => Promise<number>,
): Promise<LogReadingFigures> {
  const { appId } = service.boot;
  const verify = () => resultOf(run, service, 'GET', '/portal/log/verification');
  const reconcile = () =>
    resultOf(run, service, 'POST', `/portal/app/${appId}/test/reconcile`, { full: true });
  // Not counted: code is compiled, and the chain and the read models catch up.
  while (((await verify()).unchained ?? 0) > 0) run.progress('waiting for the hash chain');
  await reconcile();
  const events = await selectAll();

  const perSecond = async (work: () => Promise<unknown>): Promise<number> => {
    const fromMs = performance.now();
    await work();
    return events / ((performance.now() - fromMs) / 1_000);
  };
  const figures = { bare: [] as number[], verify: [] as number[], reconcile: [] as number[] };
  for (let round = 1; round <= rounds; round++) {
    figures.bare.push(await perSecond(selectAll));
    figures.verify.push(await perSecond(verify));
    figures.reconcile.push(await perSecond(reconcile));
    run.progress(`the log, round ${round} of ${rounds}`);
  }
  return { events, ...figures };
}

/** Runs a long task to its end. Throws unless it finds everything in order. */
async function resultOf(
  { signal }: Run,
  { operator }: ServiceUnderTest,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<z.infer<typeof resultLine>['result']> {
  const answer = await fetch(`${operator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${operator.token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TASK_LIMIT_MS)]),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  const { result } = resultLine.parse(JSON.parse(text.trim().split('\n').at(-1) ?? ''));
  if (!result.ok) throw new Error(`${path}: ${JSON.stringify(result)}`);
  return result;
}
