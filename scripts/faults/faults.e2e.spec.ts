/** The small run of `npm run faults`, described in docs/operating/faults.md. */
import { expect } from 'chai';
import { deathsIn, MOVE_STEPS, REQUEST_STEPS, SMALL_PLAN } from './plan.ts';
import { type Outcome, runFaults } from './runFaults.ts';

describe('deposits and withdrawals while everything goes wrong', () => {
  const seed = Number(process.env.COFFER_FAULTS_SEED ?? 1);
  let outcome: Outcome;

  before(`COFFER_FAULTS_SEED=${seed}`, async () => {
    outcome = await runFaults({ plan: SMALL_PLAN, seed, progress: () => undefined });
  });

  it('lose nothing and double nothing', () => {
    expect(outcome.violations, `COFFER_FAULTS_SEED=${seed}`).to.deep.equal([]);
  });

  it('meet every kind of fault', () => {
    expect(outcome.faults.total()).to.be.at.least(SMALL_PLAN.faults);
    expect(outcome.faults.rows().map(([kind]) => kind)).to.include.members([
      'answer lost',
      'duplicate accepted',
      'forked away',
      'landed, answer lost',
      'landing delayed',
      'node down',
      'node lagging',
      'process killed',
      'send dropped',
      'signature lost with the log',
      'webhook answer lost',
      'webhook refused',
      'webhook reset',
      'webhook slow',
    ]);
  });

  it('meet a death at every step', () => {
    const { ofWorkers, ofRequests } = deathsIn(SMALL_PLAN);
    expect(outcome.deaths.total()).to.equal(ofWorkers + ofRequests + 1);
    expect(outcome.deaths.rows().map(([at]) => at)).to.include.members([...MOVE_STEPS, ...REQUEST_STEPS]);
  });

  it('are told by webhooks, all of them', () => {
    expect(outcome.webhooks).to.be.greaterThan(outcome.moves.length);
  });

  it('do not lose or double a commission either', () => {
    const { askedCommissions, commissions } = outcome;
    for (const kind of ['payout', 'distribute', 'withdraw']) {
      const ofKind = askedCommissions.filter((one) => one.kind === kind && one.accepted !== undefined);
      expect(ofKind.length, kind).to.be.greaterThan(0);
    }
    expect(commissions).to.be.at.least(
      askedCommissions.filter(({ accepted }) => accepted !== undefined).length,
    );
  });

  it('all end, most of them well, and some after an attempt expired', () => {
    const { asked, moves } = outcome;
    const accepted = asked.flatMap((one) => (one.accepted === undefined ? [] : [one.ref]));
    const uncertain = new Set(
      asked.flatMap((one) => (one.accepted === undefined && one.isUncertain ? [one.ref] : [])),
    );
    const made = moves.map(({ requested }) => requested.key).filter((ref) => !uncertain.has(ref));
    expect(made.sort()).to.deep.equal(accepted.sort());
    const confirmed = moves.filter(({ ends: [end] }) => end?.type === 'MoveConfirmed');
    expect(confirmed.length).to.be.greaterThan(moves.length / 2);
    expect(moves.some(({ expired }) => expired > 0)).to.equal(true);
  });
});
