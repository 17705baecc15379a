/** Receives the webhooks of all apps: at times it fails, hangs up before or after it has kept what came, or is slow. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { accountEvents } from '@coffer/accounts';
import type { Pool } from '@coffer/database';
import { type Client, requireStatus, type TestApp, textOf } from '@coffer/host/testing';
import { treasuryMovePlace } from '@coffer/moves';
import { webhooks } from '@coffer/sdk';
import type { Random } from '@coffer/testing';
import { eventOf, type LoggedEvent } from '../../services/coffer/src/testing/books.ts';
import type { Tally } from './tally.ts';

/** Of all deliveries; the rest go well. Each is met once before chance decides: a small run has few deliveries. */
const SHARE = { refused: 0.05, reset: 0.03, 'answer lost': 0.05, slow: 0.1 };
const MOST_SLOW_MS = 500;
/** What has not come by then never will. */
const RECEIVED_WITHIN_MS = 90_000;

export interface Receiver {
  readonly setTrouble: (isOn: boolean) => void;
  /** Everything that happens in the app comes here from now on. */
  readonly subscribe: (client: Client, app: TestApp) => Promise<void>;
  /** Complains about all that differs between what has come and what the log says. */
  readonly judge: (client: Client) => Promise<number>;
  readonly stop: () => void;
}

interface ReceiverOptions {
  readonly pool: Pool;
  readonly random: Random;
  readonly faults: Tally;
  readonly complain: (violation: string) => void;
}

interface Subscribed {
  readonly app: TestApp;
  readonly secret: string;
  /** By number: the bytes that came first. */
  readonly received: Map<number, Buffer>;
}

export async function startReceiver({ pool, random, faults, complain }: ReceiverOptions): Promise<Receiver> {
  const subscribed = new Map<string, Subscribed>();
  let isTroubled = false;
  const unmet = Object.keys(SHARE);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    // A killed sender breaks its connections.
    request.on('error', () => undefined);
    for await (const chunk of request) chunks.push(chunk);
    const trouble = isTroubled ? (unmet.shift() ?? troubleOf(random())) : 'none';
    if (trouble !== 'none') faults.add(`webhook ${trouble}`);
    if (trouble !== 'refused' && trouble !== 'reset') await keep(Buffer.concat(chunks), request.headers);
    if (trouble === 'slow') await delay(random() * MOST_SLOW_MS);
    if (trouble === 'reset' || trouble === 'answer lost') request.socket.destroy();
    else response.writeHead(trouble === 'refused' ? 500 : 200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function keep(body: Buffer, headers: Readonly<Record<string, string | string[] | undefined>>) {
    const { appId } = JSON.parse(body.toString());
    const of = subscribed.get(appId);
    if (!of) return complain(`a webhook of ${appId}, which has no subscription`);
    const { sequence } = await webhooks.verify(body, headers, of.secret);
    const before = of.received.get(sequence);
    if (before && !before.equals(body)) complain(`webhook ${sequence} of ${appId} came with other bytes`);
    of.received.set(sequence, before ?? body);
  }

  return {
    setTrouble(isOn) {
      isTroubled = isOn;
    },
    async subscribe(client, app) {
      const key = textOf(await client.post(`/portal/app/${app.appId}/token`, {}), 'token');
      const hook = { url: `http://127.0.0.1:${port}/` };
      const answer = await client.post(`/portal/app/${app.appId}/webhooks`, hook, { key });
      const secret = textOf(answer, 'secret');
      requireStatus(answer, 200);
      subscribed.set(app.appId, { app, secret, received: new Map() });
    },
    async judge(client) {
      let count = 0;
      for (const one of subscribed.values()) {
        const expected = factsOf((await client.lines('/portal/log')).map(eventOf), one.app);
        await allReceived(pool, one, expected.length);
        count += expected.length;
        judgeReceived(one, expected, complain);
      }
      return count;
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const TROUBLES = Object.entries(SHARE);

function troubleOf(chance: number): string {
  let left = chance;
  for (const [trouble, share] of TROUBLES) {
    left -= share;
    if (left < 0) return trouble;
  }
  return 'none';
}

/** By number, what is told: its type, and whom or what it is about. */
type Told = readonly [type: string, id: string];

/** Derived from the log without the code of webhooks. */
function factsOf(events: readonly LoggedEvent[], { appId, scopeId }: TestApp): readonly Told[] {
  return events.flatMap(({ stream, type, data: text, ...rest }): readonly Told[] => {
    const data = JSON.parse(text);
    if (stream === `user-test.${scopeId}.${data.userId}` && type === 'UserRegistered')
      return [['user.created', data.userId]];
    if (stream.startsWith(`wallet-test.${scopeId}.`) && type === 'WalletProvisioned')
      return [['wallet.created', data.walletId]];
    if (!stream.startsWith(`account-test.${appId}.`)) return [];
    const moveOf = (ref: string) => treasuryMovePlace('test', appId, ref).moveId;
    const event = accountEvents.decode({ type, data: text, ...rest });
    if (event.type === 'AccountCredited' && event.data.reason !== 'deposit') return [];
    if (event.type === 'AccountCredited')
      return [['deposit.received', moveOf(event.data.entryId.replace('deposit:', ''))]];
    if (event.type !== 'HoldClosed') return [];
    const end = event.data.payout === 0n ? 'withdrawal.completed' : 'withdrawal.failed';
    return [[end, moveOf(event.data.holdId.replace('cashout:', ''))]];
  });
}

/** Attempts that wait after a failure are made at once. */
async function allReceived(pool: Pool, { app, received }: Subscribed, count: number): Promise<void> {
  const deadlineMs = performance.now() + RECEIVED_WITHIN_MS;
  while (received.size < count && performance.now() < deadlineMs) {
    await pool.query(
      `update records.webhook_deliveries set next_attempt_at = now()
        where app_id = $1 and state = 'pending' and attempts > 0`,
      [app.appId],
    );
    await delay(200);
  }
}

function judgeReceived(
  { app: { appId }, received }: Subscribed,
  expected: readonly Told[],
  complain: (violation: string) => void,
): void {
  for (const [index, [type, id]] of expected.entries()) {
    const body = received.get(index + 1);
    const told = body && JSON.parse(body.toString());
    if (!told) complain(`webhook ${index + 1} of ${appId} has not come: ${type} of ${id}`);
    else if (told.type !== type || told.data.id !== id || told.previousSequence !== (index || null)) {
      complain(`webhook ${index + 1} of ${appId} is ${body}, not ${type} of ${id}`);
    }
  }
  if (received.size > expected.length)
    complain(`${received.size} webhooks of ${appId} came, not ${expected.length}`);
}
