/** A service whose relay to Kafka is refused: whoever plays is answered as ever, and /metrics tells. */
import { randomUUID } from 'node:crypto';
import { type AppPlace, createClient, requireStatus, setUpApp, textOf, verdict } from '@coffer/host/testing';
import { readTopics, specClient } from '@coffer/kafka/testing';
import { describeKafkaBroker, eventually } from '@coffer/testing';
import { expect } from 'chai';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

const PASSWORD = 'the-password-of-the-spec';
/** More than the indices that the broker reserves, and less than what is played then. */
const MOST_FILE_BYTES = 12 * 1024 * 1024;
const BATCHES = 24;
const BETS_PER_BATCH = 1_000;
/** The client exports its enums for CommonJS alone. */
const [TOPICS, GROUPS, TRANSACTIONAL_IDS] = [2, 3, 5];
const [READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS] = [3, 4, 8, 10];
const [PREFIXED, ALLOW] = [4, 3];

describeKafkaBroker(
  'a service whose relay is refused',
  (broker) => {
    const processes = serviceProcesses();
    const url = (user: string, password = PASSWORD) =>
      `kafka://${user}:${password}@${broker().brokers}?mechanism=scram-sha-256`;

    async function served(variables: Readonly<Record<string, string>>) {
      const service = await processes.start({ variables });
      const client = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
      const app = await setUpApp(client);
      return { service, place: app.test };
    }

    const failsWith = (service: ServiceProcess, codes: RegExp) =>
      eventually(
        () => `metrics and log tell ${codes}:\n${service.logs()}`,
        async () => {
          const metrics = await (await fetch(`${service.url}/metrics`)).text();
          const told = RegExp(`^coffer_kafka_failures_total\\{code="${codes.source}"\\} [1-9]`, 'm').test(
            metrics,
          );
          const isAway = /^coffer_kafka_connected 0$/m.test(metrics);
          return (told && isAway && codes.test(service.logs())) || undefined;
        },
      );

    /** Answers that are as ever, and the id of a bet among them. */
    async function play(service: ServiceProcess, place: AppPlace): Promise<string> {
      const { userId, sessionId } = await place.newSession('30');
      const transactionUuid = randomUUID();
      const bet = requireStatus(await place.bet({ sessionId, amount: '7', transactionUuid }), 200);
      expect(textOf(bet, 'balance')).to.equal('23');
      const again = requireStatus(await place.bet({ sessionId, amount: '7', transactionUuid }), 200);
      expect(again.text).to.equal(bet.text);
      expect(verdict(await place.bet({ sessionId, amount: '24' }))).to.equal(
        '409 ledger/insufficient_balance',
      );
      const won = await place.win({ sessionId, betTransactionUuid: transactionUuid, amount: '9' });
      expect(textOf(requireStatus(won, 200), 'balance')).to.equal('32');
      requireStatus(await place.settle({ sessionId }), 200);
      await eventually(
        'the player has it',
        async () => (await place.funds(userId)).available === '32' || undefined,
      );
      expect((await fetch(`${service.url}/readyz`)).status).to.equal(200);
      return transactionUuid;
    }

    const arrives = (transactionUuid: string) =>
      readTopics(broker().inside, new Set(['coffer.test.playSession']), (read) =>
        read.some(({ value }) => value.includes(transactionUuid)),
      );

    for (const [what, brokers, code] of [
      ['there are no brokers where it looks', () => 'kafka://relay:x@127.0.0.1:1', /kafka\/unreachable/],
      ['the password is wrong', () => url('relay', `not-${PASSWORD}`), /kafka\/authentication_failed/],
    ] as const) {
      it(`answers as ever while ${what}`, async () => {
        const { service, place } = await served({ KAFKA_BROKERS: brokers() });
        await failsWith(service, code);
        await play(service, place);
        await service.terminate();
      });
    }

    it('answers as ever while rights, topics and room are missing, and publishes all of it once they are there', async () => {
      const admin = specClient(broker().inside).admin();
      await admin.connect();
      const allow = (resourceType: number, operations: readonly number[]) =>
        admin.createAcls({
          acl: operations.map((operation) => ({
            ...{ resourceType, resourceName: 'coffer', resourcePatternType: PREFIXED },
            ...{ principal: 'User:relay', host: '*', operation, permissionType: ALLOW },
          })),
        });
      const compacted = [{ name: 'cleanup.policy', value: 'compact' }];
      const places = { topic: 'coffer.relay-places', numPartitions: 1, configEntries: compacted };
      await admin.createTopics({ topics: [places] });

      // A user who may only read.
      await allow(TOPICS, [DESCRIBE, READ]);
      const { service, place } = await served({
        KAFKA_BROKERS: url('relay'),
        COFFER_KAFKA_CREATE_TOPICS: '0',
      });
      await failsWith(service, /kafka\/not_authorized/);
      const first = await play(service, place);

      // The rights of docs/kafka.md, but no topics.
      await allow(TOPICS, [DESCRIBE_CONFIGS, WRITE]);
      await allow(TRANSACTIONAL_IDS, [DESCRIBE, WRITE]);
      await allow(GROUPS, [DESCRIBE, READ]);
      await failsWith(service, /kafka\/topic_missing/);
      const second = await play(service, place);

      // The topics that it asks for: first those of facts, or that of webhook events.
      await eventually('it has asked for both', async () => {
        const named = new Set(service.logs().match(/coffer\.(?:test|live)\.[A-Za-z]+/g));
        const existing = new Set(await admin.listTopics());
        const missing = [...named].filter((topic) => !existing.has(topic));
        await admin.createTopics({ topics: missing.map((topic) => ({ topic, numPartitions: 1 })) });
        return (named.has('coffer.test.playSession') && named.has('coffer.test.events')) || undefined;
      });
      await arrives(first);
      await arrives(second);
      await admin.disconnect();

      await broker().restart(MOST_FILE_BYTES);
      for (let number = 0; number < BATCHES; number++) {
        const { sessionId } = await place.newSession(String(BETS_PER_BATCH));
        const bet = () => ({ op: 'bet', transactionUuid: randomUUID(), amount: '1' });
        requireStatus(await place.batch(sessionId, Array.from({ length: BETS_PER_BATCH }, bet)), 200);
      }
      await failsWith(service, /kafka\/(?:storage_failed|unreachable)/);
      const third = await play(service, place);
      await broker().restart();
      await arrives(third);
      expect(service.logs()).to.not.include(PASSWORD);
    });
  },
  { users: { admin: PASSWORD, relay: PASSWORD } },
);
