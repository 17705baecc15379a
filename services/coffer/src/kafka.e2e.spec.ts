/** `coffer run` with Kafka, over TLS and with a password: what is played arrives, and a broker that is away delays nobody. */
import { type AppPlace, createClient, requireStatus, setUpApp, textOf } from '@coffer/host/testing';
import { readTopics } from '@coffer/kafka/testing';
import { describeKafkaBroker, eventually, newCertificates } from '@coffer/testing';
import { expect } from 'chai';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

const PASSWORD = 'the-pass/word of the broker';
const certificates = await newCertificates();

describeKafkaBroker(
  'a service that publishes to Kafka',
  (broker) => {
    const processes = serviceProcesses();
    let service: ServiceProcess;
    let appId: string;
    let place: AppPlace;

    const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
    const arrived = (topic: string, isIt: (value: string) => boolean) =>
      readTopics(broker().inside, new Set([topic]), (read) => read.some(({ value }) => isIt(value)));
    const url = (password: string) =>
      `kafkas://admin:${encodeURIComponent(password)}@${broker().brokers}?mechanism=scram-sha-512`;

    before(async () => {
      service = await processes.start({
        variables: { LOG_LEVEL: 'trace', KAFKA_BROKERS: url(PASSWORD), COFFER_KAFKA_TLS_CA: certificates.ca },
      });
      const client = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
      const app = await setUpApp(client);
      appId = app.appId;
      place = app.test;
    });

    it('publishes a bet as a fact, and a user as webhooks tell it', async () => {
      const { sessionId } = await place.newSession('30');
      const bet = requireStatus(await place.bet({ sessionId, amount: '7' }), 200);
      const transactionUuid = textOf(bet, 'transactionUuid');
      await arrived('coffer.test.playSession', (value) => {
        const { type, app, data } = JSON.parse(value);
        return (
          type === 'coffer.playSession.BetPlaced' && app === appId && data.transactionUuid === transactionUuid
        );
      });
      await arrived('coffer.test.events', (value) => JSON.parse(value).type === 'user.created');
      expect(await metrics()).to.match(/^coffer_kafka_connected 1$/m);
    });

    it('takes bets while the broker is away, tells so, and publishes them once it is back', async () => {
      const { sessionId } = await place.newSession('30');
      await broker().kill9();
      const bet = requireStatus(await place.bet({ sessionId, amount: '7' }), 200);
      await eventually(
        'metrics tell',
        async () =>
          (await metrics()).includes('coffer_kafka_failures_total{code="kafka/unreachable"}') || undefined,
      );
      requireStatus(await place.bet({ sessionId, amount: '8' }), 200);
      expect((await fetch(`${service.url}/readyz`)).status).to.equal(200);
      await broker().restart();
      const transactionUuid = textOf(bet, 'transactionUuid');
      await arrived('coffer.test.playSession', (value) => value.includes(transactionUuid));
    });

    it('has told its password to nobody', async () => {
      const told = (await metrics()) + service.logs();
      expect(told).to.include('kafka/unreachable').and.include('coffer_kafka_published_total');
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(told).to.not.include(secret);
    });
  },
  { users: { admin: PASSWORD }, certificates },
);
