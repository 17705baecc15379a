/** Receives webhooks: `node receiver.ts PORT SECRET`. */
import { createServer } from 'node:http';
import { webhooks } from '@coffer/sdk';

const [port, secret = ''] = process.argv.slice(2);

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  // Whoever cannot sign is not Coffer.
  const event = await webhooks.verify(body, request.headers, secret).catch(() => undefined);
  response.writeHead(event ? 204 : 401).end();
  if (!event || webhooks.isTest(event)) return;
  if (event.type === 'deposit.received') {
    const { ref, amount, code } = event.data;
    process.stdout.write(`${event.type} ${ref}: ${amount} of ${code}\n`);
  } else {
    process.stdout.write(`${event.type} ${event.data.id}\n`);
  }
}).listen(Number(port), '127.0.0.1');
