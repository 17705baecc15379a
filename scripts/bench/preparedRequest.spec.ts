import { expect } from 'chai';
import { batchBody, betBody } from '../../packages/ledger/src/domain/playSession.resource.ts';
import {
  createUuidSource,
  cycle,
  cycleThrough,
  type PreparedRequest,
  prepareBatch,
  prepareBet,
  prepareInTurn,
  requestBytes,
} from './preparedRequest.ts';

const target = { port: 1, path: '/v1/ledger/bet', key: 'sk_test_x' };

function bodyOf({ bytes }: PreparedRequest): unknown {
  const [head = '', body = ''] = bytes.toString('utf8').split('\r\n\r\n');
  expect(head).to.include(`\r\nContent-Length: ${Buffer.byteLength(body)}`);
  return JSON.parse(body);
}

describe('the prepared requests of the load generator', () => {
  it('are bets, each with its own uuid, on one session after another', () => {
    const request = prepareBet(target, createUuidSource(), cycleThrough(['ses_a', 'ses_b']));
    const seen = new Set<string>();
    const sessions: string[] = [];
    for (let turn = 0; turn < 25; turn++) {
      request.renew();
      const { sessionId, transactionUuid } = betBody.parse(bodyOf(request));
      seen.add(transactionUuid);
      sessions.push(sessionId);
    }
    expect(seen.size).to.equal(25);
    expect(new Set(sessions)).to.deep.equal(new Set(['ses_a', 'ses_b']));
  });

  it('are batches of bets on one session, with no uuid twice', () => {
    const request = prepareBatch(target, createUuidSource(), cycleThrough(['ses_a', 'ses_b']), 40);
    const seen = new Set<string>();
    for (let turn = 0; turn < 3; turn++) {
      request.renew();
      for (const { transactionUuid } of batchBody.parse(bodyOf(request)).operations)
        seen.add(transactionUuid);
    }
    expect(seen.size).to.equal(120);
  });

  it('may be complete in advance, and are sent in turn by all connections together', () => {
    const next = cycle(['{"a":"é"}', '{"b":1}', '{"c":2}'].map((body) => requestBytes(target, body)));
    const [one, other] = [prepareInTurn(next), prepareInTurn(next)];
    const sent: unknown[] = [];
    for (const request of [one, other, one, other]) {
      request.renew();
      sent.push(bodyOf(request));
    }
    expect(sent).to.deep.equal([{ a: 'é' }, { b: 1 }, { c: 2 }, { a: 'é' }]);
    expect(() => cycle([])).to.throw('nothing to hand out');
  });

  it('need session ids of equal length', () => {
    expect(() => cycleThrough([])).to.throw('same length');
    expect(() => cycleThrough(['ses_a', 'ses_ab'])).to.throw('same length');
  });
});
