/**
 * Rebuilds every balance of one environment from the topics alone, compares them with the API, and says whether they are
 * equal: `node balances.ts BROKERS PREFIX.ENVIRONMENT API`, with `COFFER_SECRET_KEYS=app_…=sk_…,app_…=sk_…`.
 */
import { createBackendClient } from '@coffer/sdk';
import { Kafka, logLevel } from 'kafkajs';

interface Account {
  readonly appId: string;
  readonly userId: string;
  readonly currencyId: number;
  available: bigint;
  held: bigint;
  /** Of the last event. */
  revision: number;
}

/** What an amount in the event does to the account: docs/events.md, `account`. */
interface AccountFact {
  readonly type: string;
  readonly subject: string;
  readonly revision: number;
  readonly data: Readonly<Record<'amount' | 'held' | 'payout', string>>;
}

const [brokers = '', place = '', baseUrl = ''] = process.argv.slice(2);
const keys = new Map(
  (process.env.COFFER_SECRET_KEYS ?? '')
    .split(',')
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
);
const topic = `${place}.account`;
/** For the relay to publish what the API already knows. */
const PATIENCE_MS = 60_000;
const deadlineMs = performance.now() + PATIENCE_MS;
const pause = () => new Promise((resolve) => setTimeout(resolve, 200));

const accounts = new Map<string, Account>();

function take({ type, subject, revision, data }: AccountFact): void {
  // account-<environment>.<app>.<user>.<currencyId>
  const [, appId = '', userId = '', currencyId] = subject.split('.');
  const account = accounts.get(subject) ?? {
    ...{ appId, userId, currencyId: Number(currencyId) },
    ...{ available: 0n, held: 0n, revision: -1 },
  };
  if (revision !== account.revision + 1)
    throw new Error(`${subject} goes from event ${account.revision} to ${revision}: the topic has a gap.`);
  accounts.set(subject, account);
  account.revision = revision;
  switch (type) {
    case 'coffer.account.AccountCredited':
      account.available += BigInt(data.amount);
      return;
    case 'coffer.account.AccountDebited':
      account.available -= BigInt(data.amount);
      return;
    case 'coffer.account.FundsHeld':
      account.available -= BigInt(data.amount);
      account.held += BigInt(data.amount);
      return;
    case 'coffer.account.HoldClosed':
      account.held -= BigInt(data.held);
      account.available += BigInt(data.payout);
      return;
    default:
      throw new Error(`${type} is newer than this program, which would have to guess.`);
  }
}

/** Each account of these users that is not the same in the API, also those of which the topic has nothing. */
async function differences(): Promise<readonly string[]> {
  const found: string[] = [];
  const owners = new Map(
    [...accounts.values()].map(({ appId, userId }) => [`${appId} ${userId}`, { appId, userId }]),
  );
  for (const { appId, userId } of owners.values()) {
    const secretKey = keys.get(appId);
    if (secretKey === undefined) throw new Error(`COFFER_SECRET_KEYS has no key of ${appId}.`);
    const { users } = createBackendClient({ baseUrl, secretKey });
    for (const { currencyId, available, held } of await users.accounts(userId)) {
      const own = accounts.get(
        `account-${place.slice(place.lastIndexOf('.') + 1)}.${appId}.${userId}.${currencyId}`,
      );
      const [topics, api] = [`${own?.available ?? 0n} + ${own?.held ?? 0n}`, `${available} + ${held}`];
      if (topics !== api)
        found.push(`${userId} in ${currencyId}: ${topics} by the topics, ${api} by the API`);
    }
  }
  return found;
}

const kafka = new Kafka({ clientId: 'balances', brokers: brokers.split(','), logLevel: logLevel.ERROR });
const admin = kafka.admin();
// Committed messages alone: what a relay that was killed had begun is not an event.
const consumer = kafka.consumer({
  groupId: `balances-${process.pid}`,
  readUncommitted: false,
  allowAutoTopicCreation: false,
});
await admin.connect();
// The relay creates it with the first event that belongs there. Asking for its messages before that would fail, or create
// it with the broker's settings instead of the relay's.
while (!(await admin.listTopics()).includes(topic)) {
  if (performance.now() > deadlineMs)
    throw new Error(`There is no topic ${topic}: is ${place} right, and does the relay run?`);
  await pause();
}
await consumer.connect();
let failure: unknown;
/** The next offset to read, by partition. The markers of transactions have offsets, but no message. */
const reached = new Map<number, bigint>();
consumer.on(
  consumer.events.END_BATCH_PROCESS,
  ({ payload: { partition, lastOffset } }) => void reached.set(partition, BigInt(lastOffset) + 1n),
);
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  autoCommit: false,
  async eachMessage({ message: { value } }) {
    try {
      if (failure === undefined) take(JSON.parse(String(value)));
    } catch (error) {
      failure = error;
    }
  },
});

async function isAtEnd(): Promise<boolean> {
  const ends = await admin.fetchTopicOffsets(topic);
  return ends.every(({ partition, high }) => high === '0' || (reached.get(partition) ?? 0n) >= BigInt(high));
}

let different: readonly string[] = ['nothing was read'];
while (different.length > 0 && failure === undefined && performance.now() < deadlineMs) {
  await pause();
  if (accounts.size > 0 && (await isAtEnd())) different = await differences();
}
await Promise.all([consumer.disconnect(), admin.disconnect()]);
if (failure !== undefined) throw failure;
const total = [...accounts.values()].reduce((sum, { available, held }) => sum + available + held, 0n);
process.stdout.write(
  different.length === 0
    ? `EQUAL: ${accounts.size} accounts with ${total} base units\n`
    : `DIFFERENT:\n${different.join('\n')}\n`,
);
process.exitCode = different.length === 0 ? 0 : 1;
