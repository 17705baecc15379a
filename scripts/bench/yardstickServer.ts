/**
 * The yardsticks of the HTTP routes, in a process that runs none of our code, so that they do not move with it: a bet's
 * body is parsed, checked and answered with a constant by plain Express, and by Node's own server without a check. Reports
 * its ports to its parent.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { z } from 'zod';

export interface YardstickPorts {
  readonly express: number;
  readonly http: number;
}

/** What a bet is, as a newcomer to zod would write it. */
const bet = z.strictObject({
  sessionId: z.string().regex(/^ses_[0-9a-z]{26}$/),
  transactionUuid: z.uuid(),
  amount: z.string().regex(/^[1-9][0-9]{0,77}$/),
});

const ANSWER = {
  sessionId: `ses_${'a'.repeat(26)}`,
  transactionUuid: '00000000-0000-4000-8000-000000000000',
  amount: '1',
  balance: '999999999999',
  status: 'accepted',
};

const app = express();
app.use(express.json());
app.post('/v1/ledger/bet', (request, response) => {
  const { success } = bet.safeParse(request.body);
  if (success) response.json(ANSWER);
  else response.status(400).end();
});

const plain: RequestListener = (request, response) => {
  request.resume();
  request.once('end', () => {
    const body = JSON.stringify(ANSWER);
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
};

async function portOf(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server on host and port has an address of this form.
  return (server.address() as AddressInfo).port;
}

const ports: YardstickPorts = { express: await portOf(app), http: await portOf(plain) };
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
process.send?.(ports);
