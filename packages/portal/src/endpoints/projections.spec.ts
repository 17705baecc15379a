import { setImmediate as turn } from 'node:timers/promises';
import type { RunningServer } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { Rejection, systemClock } from '@coffer/kernel';
import { expect } from 'chai';
import { portalErrors } from '../errors.ts';
import type { ReadModelTasks } from '../readModelTasks.ts';
import { projectionEndpoints } from './projections.ts';

const TOKEN = 'the-operators-token';

describe('a rebuild of the read models, over HTTP', () => {
  let server: RunningServer;
  let rebuild: ReadModelTasks['rebuild'];

  before(async () => {
    server = await serve({
      endpoints: projectionEndpoints({
        clock: systemClock,
        readModels: { listConsumers: async () => [], rebuild: (...asked) => rebuild(...asked) },
        skips: { skip: () => expect.fail('Nobody skips.') },
      }),
      catalog: portalErrors,
      isOperatorToken: (token) => token === TOKEN,
    });
  });
  after(() => server.stop(0));

  const post = (signal?: AbortSignal) =>
    fetch(`${server.url}/v1/portal/projections/rebuild`, {
      method: 'POST',
      body: '{"verify":true}',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(signal && { signal }),
    });
  const rebuilt = async () => {
    const text = await (await post()).text();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  };

  const filling = { stage: 'filling', done: 1, of: 7 };

  it('tells how far it is, then what it came to', async () => {
    let asked: boolean | undefined;
    rebuild = async ({ verify }, report) => {
      asked = verify;
      report(filling);
      await turn();
      return { ok: true, live: 'read_v2' };
    };
    expect(await rebuilt()).to.deep.equal([
      { kind: 'progress', ...filling },
      { kind: 'result', result: { ok: true, live: 'read_v2' } },
    ]);
    expect(asked).to.equal(true);
  });

  it('is refused while another is in progress, with nothing sent before', async () => {
    rebuild = async () => {
      throw new Rejection('portal/rebuild_under_way');
    };
    const refused = await post();
    expect(refused.status).to.equal(409);
    expect(await refused.json()).to.include({ code: 'portal/rebuild_under_way' });
  });

  it('that fails is cut off without a result', async () => {
    rebuild = async (_, report) => {
      report(filling);
      await turn();
      throw new Error('The disk is full.');
    };
    expect(await rebuilt().catch((error: unknown) => error)).to.be.instanceOf(TypeError);
  });

  it('is given up when its caller goes away', async () => {
    const given = Promise.withResolvers<unknown>();
    rebuild = ({ signal }, report) =>
      new Promise((_, fail) => {
        signal.addEventListener('abort', () => {
          given.resolve(signal.reason);
          fail(signal.reason);
        });
        report(filling);
      });
    const leaving = new AbortController();
    const response = await post(leaving.signal);
    expect(response.status).to.equal(200);
    leaving.abort();
    expect(await given.promise).to.be.instanceOf(Error);
  });
});
