/**
 * A service that dies at each step of a commission, a withdrawal, a code and an attribution, while another one serves on:
 * the caller's repeat or the process finishes what was begun, once. Source: contract, Referrals; ADR 0006.
 */
import { randomUUID } from 'node:crypto';
import { type Answer, type AppPlace, requireStatus, type TestApp } from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance, type LogLine } from './testing/books.ts';
import { clientOf, typesOf, useMortalNodes } from './testing/mortalNodes.ts';
import type { ServiceProcess } from './testing/serviceProcess.ts';

const CHIP = 2;

interface Subject {
  /** In every event of the flow, and in no other of these types. */
  readonly mark: string;
  readonly path: string;
  readonly body: object;
  /** Of a service that never died. */
  readonly answer: { readonly status: number; readonly json: object };
  /** What users can withdraw in the end, and what they have available. */
  readonly ends: readonly (readonly [userId: string, balance: string, available: string])[];
}

interface Flow {
  readonly prepare: (place: AppPlace) => Promise<Subject>;
  readonly events: readonly string[];
  /** How many events of the flow make a repeat a replay; undefined where the answer does not say. */
  readonly decidedAfter?: number;
}

const payout: Flow = {
  events: ['PayoutDecided', 'EarningsAccrued'],
  decidedAfter: 1,
  async prepare(place) {
    const userId = await place.newPlayer('1');
    const body = { idemKey: randomUUID(), userId, currency: CHIP, amount: '30' };
    return {
      mark: body.idemKey,
      path: '/referrals/payout',
      body,
      answer: { status: 201, json: { ...body, balance: '30' } },
      ends: [[userId, '30', '1']],
    };
  },
};

const distribution: Flow = {
  events: ['DistributionDecided', ...Array(3).fill('EarningsAccrued')],
  decidedAfter: 1,
  async prepare(place) {
    const [userId, first, second, third] = await chainOf(place, 4);
    const request = { idemKey: randomUUID(), userId, currency: CHIP, amount: '1000' };
    const part = (level: number, of: string, bps: number, amount: string) => ({
      level,
      userId: of,
      bps,
      amount,
    });
    return {
      mark: request.idemKey,
      path: '/referrals/distribute',
      body: { ...request, levels: [500, 200, 100, 50] },
      answer: {
        status: 200,
        json: {
          idemKey: request.idemKey,
          distributed: [part(1, first, 500, '50'), part(2, second, 200, '20'), part(3, third, 100, '10')],
          remainder: '920',
          withheld: [],
        },
      },
      ends: [
        [userId, '0', '1'],
        [first, '50', '1'],
        [second, '20', '1'],
        [third, '10', '1'],
      ],
    };
  },
};

const withdrawal: Flow = {
  events: ['EarningsWithdrawn', 'WithdrawalDecided', 'AccountCredited'],
  decidedAfter: 1,
  async prepare(place) {
    const userId = await place.newPlayer('1');
    const earned = { idemKey: randomUUID(), userId, currency: CHIP, amount: '100' };
    requireStatus(await place.post('/referrals/payout', earned), 201);
    const body = { idemKey: randomUUID(), userId, currency: CHIP, amount: '40' };
    return {
      mark: body.idemKey,
      path: '/referrals/withdraw',
      body,
      answer: { status: 200, json: { ...body, balance: '60' } },
      ends: [[userId, '60', '41']],
    };
  },
};

const code: Flow = {
  events: ['CodeClaimed', 'CodeIssued'],
  async prepare(place) {
    const userId = await place.newPlayer('1');
    const body = { userId, code: `c${userId.slice(-12)}` };
    const answer = { status: 200, json: body };
    return { mark: body.code, path: '/referrals/code', body, answer, ends: [[userId, '0', '1']] };
  },
};

/** Of a user who has a code, so it is begun before it is made. */
const attribution: Flow = {
  events: ['AttributionBegun', 'UserAttributed'],
  decidedAfter: 1,
  async prepare(place) {
    const [userId, referrer] = [await place.newPlayer('1'), await place.newPlayer('1')];
    await codeOf(place, userId);
    const body = { userId, code: await codeOf(place, referrer) };
    return {
      mark: userId,
      path: '/referrals/attribute',
      body,
      answer: { status: 200, json: { attributed: true, referrerUserId: referrer } },
      ends: [[userId, '0', '1']],
    };
  },
};

const codeOf = async (place: AppPlace, userId: string): Promise<string> =>
  String(requireStatus(await place.post('/referrals/code', { userId }), 200).json.code);

/** The first was brought by the second, and so on. */
async function chainOf(place: AppPlace, length: number) {
  const users: string[] = [];
  for (let one = 0; one < length; one += 1) users.push(await place.newPlayer('1'));
  for (const [index, userId] of users.slice(0, -1).entries()) {
    const attribute = { userId, code: await codeOf(place, users[index + 1] ?? expect.fail()) };
    requireStatus(await place.post('/referrals/attribute', attribute), 200);
  }
  const [one, two, three, four] = users;
  if (!one || !two || !three || !four) expect.fail();
  return [one, two, three, four] as const;
}

interface Death {
  readonly at: FailPointName;
  readonly of: keyof typeof FLOWS;
  /** How many of the flow's events are then in the log. */
  readonly written: number;
}

const FLOWS = { payout, distribution, withdrawal, code, attribution };

const REPEATED: readonly Death[] = [
  { at: 'payout.beforeDecision', of: 'payout', written: 0 },
  { at: 'payout.decided', of: 'payout', written: 1 },
  { at: 'payout.accrued', of: 'payout', written: 2 },
  { at: 'distribute.beforeDecision', of: 'distribution', written: 0 },
  { at: 'distribute.decided', of: 'distribution', written: 1 },
  { at: 'distribute.accrued', of: 'distribution', written: 4 },
  { at: 'withdraw.beforeEarnings', of: 'withdrawal', written: 0 },
  { at: 'withdraw.setAside', of: 'withdrawal', written: 1 },
  { at: 'withdraw.decided', of: 'withdrawal', written: 2 },
  { at: 'withdraw.credited', of: 'withdrawal', written: 3 },
  { at: 'code.claimed', of: 'code', written: 1 },
  { at: 'code.issued', of: 'code', written: 2 },
  { at: 'attribution.begun', of: 'attribution', written: 1 },
  { at: 'attribution.finished', of: 'attribution', written: 2 },
];
const LEFT: readonly Death[] = [
  { at: 'payout.decided', of: 'payout', written: 1 },
  { at: 'distribute.decided', of: 'distribution', written: 1 },
  { at: 'withdraw.setAside', of: 'withdrawal', written: 1 },
  { at: 'withdraw.decided', of: 'withdrawal', written: 2 },
  { at: 'code.claimed', of: 'code', written: 1 },
  { at: 'attribution.begun', of: 'attribution', written: 1 },
];

describe('a service that dies with referrals', () => {
  const nodes = useMortalNodes();
  /** It serves on, without the process that finishes what others began. */
  let node: ServiceProcess;
  let app: TestApp;
  /** What nobody repeats. */
  const left = new Map<Death, Subject>();

  before(async () => {
    node = await nodes.start(['api', 'projector']);
    app = await nodes.newApp(node);
    for (const death of LEFT) left.set(death, await dieAt(death));
    // The first process to find it dies as well. It comes before all else, so that nobody waits for the end of its lease.
    const doomed = await nodes.start(['process-manager'], 'withdraw.decided');
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
  });

  const sendTo = (to: ServiceProcess, { path, body }: Pick<Subject, 'path' | 'body'>) =>
    clientOf(to).post(path, body, { key: app.test.secretKey });

  async function loggedOf(mark: string, types: readonly string[]): Promise<readonly LogLine[]> {
    const lines = await clientOf(node).lines('/portal/log');
    return lines.filter((line) => types.includes(String(line.type)) && JSON.stringify(line).includes(mark));
  }

  async function dieAt({ at, of, written }: Death): Promise<Subject> {
    const flow = FLOWS[of];
    const subject = await flow.prepare(app.test);
    const doomed = await nodes.start(['api'], at);
    const call = sendTo(doomed, subject);
    expect(await call.catch((error: unknown) => error), 'no answer').to.be.instanceOf(TypeError);
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
    expect(typesOf(await loggedOf(subject.mark, flow.events))).to.deep.equal(flow.events.slice(0, written));
    return subject;
  }

  /** The answer of a service that never died, and every effect once. */
  async function expectDone({ status, json, text }: Answer, subject: Subject, flow: Flow): Promise<void> {
    expect({ status, json }).to.deep.equal(subject.answer);
    for (const [userId, balance, available] of subject.ends) {
      const asked = await app.test.post('/referrals/balance', { userId, currency: CHIP });
      expect(requireStatus(asked, 200).json).to.include({ balance });
      expect(await app.test.funds(userId)).to.deep.equal({ available, held: '0' });
    }
    const replayed = flow.decidedAfter !== undefined;
    expect(await sendTo(node, subject)).to.include({ status, text, replayed });
    expect(typesOf(await loggedOf(subject.mark, flow.events))).to.deep.equal(flow.events);
  }

  describe('which the caller repeats elsewhere', () => {
    for (const death of REPEATED) {
      const { at, of, written } = death;
      it(`at ${at} of a ${of}: the repeat gets the original answer, and all is done once`, async () => {
        const subject = await dieAt(death);
        const flow = FLOWS[of];
        const repeat = await sendTo(node, subject);
        expect(repeat.replayed).to.equal(flow.decidedAfter !== undefined && written >= flow.decidedAfter);
        await expectDone(repeat, subject, flow);
      });
    }
  });

  describe('which nobody repeats', () => {
    before(() => nodes.start(['process-manager']));

    for (const death of LEFT) {
      const { at, of } = death;
      it(`at ${at} of a ${of}: the process of another finishes it, once`, async () => {
        const subject = left.get(death) ?? expect.fail();
        const flow = FLOWS[of];
        await eventually(
          `all of the ${of} is in the log`,
          async () => (await loggedOf(subject.mark, flow.events)).length >= flow.events.length || undefined,
        );
        await expectDone(await sendTo(node, subject), subject, flow);
      });
    }
  });

  describe('in the end', () => {
    it('leaves books that balance, and a reconciliation that finds nothing', async () => {
      const { json } = requireStatus(await app.test.reconcile(), 200);
      expect(json).to.deep.include({ ok: true, inFlight: [] });
      await expectBooksToBalance(clientOf(node));
    });
  });
});
