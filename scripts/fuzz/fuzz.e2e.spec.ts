/** A small run of `npm run fuzz`, described in docs/operating/fuzz.md. */
import { expect } from 'chai';
import { type Outcome, runFuzz } from './runFuzz.ts';

const SEED = 1;
const REQUESTS = 800;

describe('a service that gets random requests from its OpenAPI documents', () => {
  const stack = new AsyncDisposableStack();
  let outcome: Outcome;

  before(async () => {
    const { signal } = new AbortController();
    const run = { stack, signal, progress: () => undefined };
    outcome = await runFuzz(run, { seed: SEED, requests: REQUESTS, inFlight: 16 });
  });
  after(() => stack.disposeAsync());

  it('answers each request as documented, repeats itself to the byte, and is intact at the end', () => {
    expect(outcome.findings).to.deep.equal([]);
  });

  it('was asked for every operation, and most of them succeeded', () => {
    expect(outcome.untried).to.deep.equal([]);
    expect(outcome.successes.rows().length).to.be.greaterThan(outcome.operations / 2);
    expect(outcome.replays).to.be.greaterThan(0);
  });
});
