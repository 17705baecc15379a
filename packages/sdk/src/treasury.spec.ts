import { expect } from 'chai';
import { pendingMove } from './testing/bodies.ts';
import {
  answers,
  backendOf,
  failureOf,
  losesTheReply,
  refuses,
  rejectionOf,
  type Step,
  UUID,
} from './testing/scriptedService.ts';

const requested = { ...pendingMove, kind: 'deposit', currency: 1, toAddress: 'W1' };
const submitted = { ...requested, ref: 'r1', status: 'submitted', signature: 'S1' };
const confirmed = { ...submitted, status: 'confirmed', slot: 321 };
const neverLanded = { code: 'moves/never_landed', message: 'It never landed.' };
const failed = { ...submitted, status: 'failed', error: neverLanded };

/** Answers a transfer as the service does: under the ref received. */
const accepts: Step = ({ body }) => Response.json({ ...requested, ref: body.ref });
const transfer = { userId: 'usr_a', currency: 1, amount: 40n };

describe('a treasury transfer of the backend client', () => {
  for (const operation of ['deposit', 'withdraw'] as const) {
    it(`is sent under one made-up ref over all attempts: ${operation}`, async () => {
      const { client, sent } = backendOf([losesTheReply, refuses(503, 'service/outcome_unknown'), accepts]);
      const { ref, amount, status, replayed } = await client.treasury[operation](transfer);
      expect({ amount, status, replayed }).to.deep.equal({ amount: 40n, status: 'pending', replayed: false });
      expect(ref).to.match(UUID);
      const body = { userId: 'usr_a', currency: 1, amount: '40', ref };
      expect(sent.map((request) => [request.path, request.body])).to.deep.equal(
        Array(3).fill([`/v1/treasury/${operation}`, body]),
      );
    });

    it(`tells its ref when the outcome is unknown: ${operation}`, async () => {
      const { client, sent } = backendOf([losesTheReply]);
      const { ref, outcome, transactionUuids, idempotencyKey } = await failureOf(
        client.treasury[operation](transfer),
      );
      expect({ outcome, transactionUuids, idempotencyKey }).to.deep.equal({
        outcome: 'unknown',
        transactionUuids: [],
        idempotencyKey: undefined,
      });
      expect(ref).to.match(UUID);
      expect(new Set(sent.map(({ body }) => body.ref))).to.deep.equal(new Set([ref]));
    });
  }

  it('keeps a ref that is given, says when it is a replay, and is another one the next time', async () => {
    const { client } = backendOf([
      answers({ ...requested, ref: 'mine' }, 201, { 'idempotency-replayed': 'true' }),
      accepts,
    ]);
    expect(await client.treasury.deposit({ ...transfer, ref: 'mine' })).to.deep.include({
      ref: 'mine',
      replayed: true,
    });
    const { ref: first } = await client.treasury.deposit(transfer);
    expect((await client.treasury.deposit(transfer)).ref).not.to.equal(first);
  });

  it('keeps its ref in a refusal that follows a lost reply', async () => {
    const { client } = backendOf([losesTheReply, refuses(409, 'treasury/insufficient_wallet_funds')]);
    const failure = await failureOf(client.treasury.deposit({ ...transfer, ref: 'mine' }));
    expect(failure).to.deep.include({
      code: 'treasury/insufficient_wallet_funds',
      outcome: 'unknown',
      ref: 'mine',
    });
  });

  it('never sends an invalid amount', async () => {
    const { client, sent } = backendOf([accepts]);
    const promise = client.treasury.withdraw({ ...transfer, amount: -1n });
    expect(await rejectionOf(promise)).to.be.instanceOf(RangeError);
    expect(sent).to.have.length(0);
  });
});

describe('waiting for a move', () => {
  it('looks until it is confirmed', async () => {
    const { client, sent, timing } = backendOf([
      answers({ ...requested, ref: 'r1' }),
      answers(submitted),
      answers(confirmed),
    ]);
    expect(await client.treasury.settled('r1', { pollMs: 250 })).to.deep.equal({ ...confirmed, amount: 40n });
    expect(sent.map(({ path, body }) => [path, body])).to.deep.equal(
      Array(3).fill(['/v1/treasury/status', { ref: 'r1' }]),
    );
    expect(timing.slept).to.deep.equal([250, 250]);
  });

  it('answers a failed one as it answers a confirmed one, with the reason', async () => {
    const { client } = backendOf([answers(failed)]);
    const { status, error } = await client.treasury.settled('r1');
    expect({ status, error }).to.deep.equal({ status: 'failed', error: neverLanded });
  });

  it('goes on while the service cannot be asked', async () => {
    // For longer than any other call would try.
    const { client, timing } = backendOf([...Array(20).fill(losesTheReply), answers(confirmed)]);
    expect((await client.treasury.settled('r1')).status).to.equal('confirmed');
    const waited = timing.slept.reduce((sum, delayMs) => sum + delayMs, 0);
    expect(waited).to.be.greaterThan(30_000);
  });

  it('ends at its deadline, and says that the move goes on', async () => {
    const { client, sent } = backendOf([answers(submitted)]);
    const failure = await failureOf(client.treasury.settled('r1', { deadlineMs: 3_500, pollMs: 1_000 }));
    expect(failure).to.deep.include({
      code: 'sdk/not_settled',
      ref: 'r1',
      details: { moveId: 'mov_a', status: 'submitted' },
      retryable: true,
      outcome: 'unknown',
    });
    expect(sent, 'at 0, 1, 2 and 3 seconds').to.have.length(4);
  });

  it('does not wait for a move that was never requested', async () => {
    const { client, sent } = backendOf([refuses(404, 'treasury/move_not_found')]);
    expect(await failureOf(client.treasury.settled('r1'))).to.include({
      code: 'treasury/move_not_found',
      ref: 'r1',
    });
    expect(sent).to.have.length(1);
  });

  it('ends with the reason of the signal', async () => {
    const controller = new AbortController();
    const reason = new Error('The server is going down.');
    const { client, sent, timing } = backendOf([
      () => {
        controller.abort(reason);
        return Response.json(submitted);
      },
    ]);
    const promise = client.treasury.settled('r1', { signal: controller.signal });
    expect(await rejectionOf(promise)).to.equal(reason);
    expect(sent).to.have.length(1);
    expect(timing.slept, 'the wait had not begun').to.deep.equal([]);
  });
});

describe('the balance of a player at the treasury', () => {
  it('has figures that may be negative', async () => {
    const body = {
      userId: 'usr_a',
      currency: 1,
      deposited: '10',
      withdrawn: '30',
      net: '-20',
      available: '5',
      held: '0',
      treasury: { address: 'T1', onChain: '100', liabilities: '-1', inFlight: '2', surplus: '103' },
    };
    const { client, sent } = backendOf([answers(body)]);
    const balance = await client.treasury.balance({ userId: 'usr_a', currency: 1 });
    expect(balance).to.deep.equal({
      ...body,
      deposited: 10n,
      withdrawn: 30n,
      net: -20n,
      available: 5n,
      held: 0n,
      treasury: { address: 'T1', onChain: 100n, liabilities: -1n, inFlight: 2n, surplus: 103n },
    });
    expect(sent[0]).to.deep.include({
      path: '/v1/treasury/balance',
      body: { userId: 'usr_a', currency: 1 },
    });
  });
});
