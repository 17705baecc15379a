/** A pass of the scrub survives the processes that carry it out. */
import type { Pool } from '@coffer/database';
import { createClient, errorLines, setUpApp } from '@coffer/host/testing';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { writePlayedLog } from './testing/playedLog.ts';
import { OPERATOR_TOKEN, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

interface Standing {
  readonly turn: string;
  readonly begunAt: string | null;
  readonly stage: string | null;
  /** Verified or derived; null before the first turn of a stage is over. */
  readonly ordinal: number | null;
  readonly passes: number | null;
}

describe('a scrub whose process is killed', () => {
  let database: TestDatabase;
  let pool: Pool;
  const processes = serviceProcesses();
  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
  });
  after(() => database.drop());

  const standing = async (): Promise<Standing | undefined> => {
    const { rows } = await pool.query<Standing>(
      `select turn, state::jsonb #>> '{pass,begunAt}' as "begunAt", state::jsonb #>> '{pass,stage,kind}' as stage,
              coalesce(state::jsonb #>> '{pass,stage,reached,ordinal}',
                       state::jsonb #>> '{pass,stage,ordinal}')::int as ordinal,
              (state::jsonb #>> '{lastPass,findings}')::int as passes
         from records.scrub`,
    );
    return rows[0];
  };
  const inTheMiddleOf = (stage: string) =>
    eventually(`in the middle of ${stage}`, async () => {
      const now = await standing();
      return now?.stage === stage && now.ordinal !== null ? now : undefined;
    });

  it('goes on where it was, in the same pass, whether the log is verified or the books are derived', async () => {
    const variables = { DATABASE_URL: database.connectionString, COFFER_REACTION_GRACE_MS: '60000' };
    const filling = await processes.start({
      variables: { ...variables, COFFER_SCRUB_PASS_SECONDS: '0' },
      until: 'listening',
    });
    const client = createClient({ baseUrl: `${filling.url}/v1`, operatorToken: OPERATOR_TOKEN });
    const { test } = await setUpApp(client);
    const { events } = await writePlayedLog(database.connectionString, test, {
      sessions: 100,
      betsEach: 195,
    });
    await eventually('everything is chained', async () => {
      const { status, json } = await client.get('/portal/audit/head');
      return status === 200 && Number(json.ordinal) >= events ? true : undefined;
    });
    await filling.terminate();

    const scrubbing = {
      variables: { ...variables, COFFER_SCRUB_PASS_SECONDS: '8' },
      until: 'listening',
    } as const;
    let begunAt: string | null | undefined;
    for (const stage of ['verifying', 'deriving']) {
      const service = await processes.start(scrubbing);
      const reached = await inTheMiddleOf(stage);
      begunAt ??= reached.begunAt;
      await service.kill9();
      const left = await standing();
      expect(left?.begunAt, 'the same pass').to.equal(begunAt);
      // It may still hold its turn for a minute: no need to wait for that here.
      await pool.query(`update records.scrub set leased_until = clock_timestamp() where owner is not null`);
    }

    const service = await processes.start(scrubbing);
    const ordinals: number[] = [];
    await eventually('the end of the pass', async () => {
      const now = await standing();
      if (now?.stage === 'deriving') {
        expect(now.begunAt).to.equal(begunAt);
        ordinals.push(Number(now.ordinal));
      }
      return now?.passes === 0 ? true : undefined;
    });
    expect(ordinals).to.deep.equal([...ordinals].sort((one, other) => one - other));
    expect(
      ordinals.every((ordinal) => ordinal > 0),
      'never anew',
    ).to.equal(true);
    await service.terminate();
    expect(errorLines(service.logs().split('\n'))).to.deep.equal([]);
  });
});
