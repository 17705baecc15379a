/** Deadlines by the real clock, against a port where nobody listens and a server that does not answer. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createBackendClient } from './backend.ts';
import type { RetryOptions } from './retry.ts';
import { failureOf, rejectionOf, UUID } from './testing/scriptedService.ts';

async function listening(answer: (response: ServerResponse) => void): Promise<[Server, string]> {
  const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an address of this form.
  const { port } = server.address() as AddressInfo;
  return [server, `http://127.0.0.1:${port}/v1`];
}

const backendAt = (baseUrl: string, retry: RetryOptions = {}) =>
  createBackendClient({ baseUrl, secretKey: 'sk_test_a', retry });
const bet = { sessionId: 'ses_a', amount: 5n };

describe('a call to a service that is dead', () => {
  let baseUrl = '';

  before(async () => {
    const [server, url] = await listening(() => {});
    server.close();
    await once(server, 'close');
    baseUrl = url;
  });

  for (const [title, retry, options] of [
    ['with a deadline of the client', { deadlineMs: 300 }, {}],
    ['with a deadline of the call', {}, { deadlineMs: 300 }],
    ['with attempts that the deadline cuts', { deadlineMs: 400, attemptTimeoutMs: 399 }, {}],
    ['with limits in fractions', { deadlineMs: 250.5, attemptTimeoutMs: 99.9, firstDelayMs: 0.1 }, {}],
    ['with a deadline that is over', {}, { deadlineMs: -0.5 }],
    ['with attempts without a limit', { attemptTimeoutMs: Number.POSITIVE_INFINITY, deadlineMs: 300 }, {}],
  ] as const) {
    it(`ends in its time and tells the key of the write, ${title}`, async () => {
      const failure = await failureOf(backendAt(baseUrl, retry).ledger.bet(bet, options));
      expect(failure).to.include({ code: 'sdk/no_answer', outcome: 'unknown', retryable: true });
      expect(failure.transactionUuids[0]).to.match(UUID);
    });
  }

  it('is not made with a limit that is not a number', async () => {
    expect(() => backendAt(baseUrl, { attemptTimeoutMs: Number.NaN })).to.throw(
      RangeError,
      'attemptTimeoutMs',
    );
    const rejection = await rejectionOf(backendAt(baseUrl).ledger.bet(bet, { deadlineMs: Number.NaN }));
    expect(rejection).to.be.instanceOf(RangeError).and.have.property('message').that.includes('deadlineMs');
  });
});

describe('a call to a service that does not answer', () => {
  it('ends in its time, and the bet can be rolled back under the key that is told', async () => {
    let hangs = true;
    const [server, baseUrl] = await listening((response) => {
      if (hangs) return;
      const answer = { sessionId: 'ses_a', transactionUuid: 'r', betTransactionUuid: 'b', amount: '0' };
      response.end(JSON.stringify({ ...answer, balance: '7', status: 'remembered' }));
    });
    try {
      const backend = backendAt(baseUrl, { deadlineMs: 300, attemptTimeoutMs: 60, firstDelayMs: 1 });
      const failure = await failureOf(backend.ledger.bet(bet));
      expect(failure).to.include({ code: 'sdk/no_answer', outcome: 'unknown' });
      const [betTransactionUuid = ''] = failure.transactionUuids;
      expect(betTransactionUuid).to.match(UUID);
      hangs = false;
      const { status } = await backend.ledger.rollback(
        { sessionId: 'ses_a', betTransactionUuid },
        { deadlineMs: 20_000 },
      );
      expect(status).to.equal('remembered');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
