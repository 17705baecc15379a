/**
 * What a broker that wants TLS and passwords refuses: each refusal has a name in trouble and metrics, no password in
 * either, and nobody else waits. With room on its disk again, the relay goes on by itself.
 */
import { describeKafkaBroker, eventually, newCertificates, until } from '@coffer/testing';
import { expect } from 'chai';
import { Registry } from 'prom-client';
import type { FailureCode } from './failures.ts';
import { observeRelay } from './metrics.ts';
import type { KafkaSettings } from './settings.ts';
import { relayWorld, sessionStream } from './testing/relayWorld.ts';
import { specClient } from './testing/topicReader.ts';

const PASSWORD = 'the-password-of-the-spec';
const certificates = await newCertificates();
/** More than the indices that the broker reserves, and less than the events. */
const MOST_FILE_BYTES = 12 * 1024 * 1024;
const LARGE_EVENTS = 16;
/** The client exports its enums for CommonJS alone. */
const [TOPIC, PREFIXED, READ, DESCRIBE, ALLOW] = [2, 4, 3, 8, 3];

const tls = { authorities: certificates.ca };
const as = (
  username: string,
  password = PASSWORD,
  mechanism: NonNullable<KafkaSettings['sasl']>['mechanism'] = 'plain',
) => ({ tls, sasl: { mechanism, username, password } });

describeKafkaBroker(
  'what a broker refuses',
  (broker) => {
    const world = relayWorld(
      () => broker().brokers,
      () => broker().inside,
    );
    const metric = async (registry: Registry, name: string, code: FailureCode) =>
      (await registry.getSingleMetric(name)?.get())?.values.find(
        ({ labels }) => labels.code === undefined || labels.code === code,
      )?.value;
    const failsWith = async (settings: Partial<KafkaSettings>, code: FailureCode) => {
      const registry = new Registry();
      await world.append(sessionStream('a'), 3);
      const observer = observeRelay(registry);
      const relay = world.start({ settings: world.settings(settings), observer });
      await eventually(
        () => `${code} in ${world.troubles}`,
        () => world.troubles.some((text) => text.includes(code)) || undefined,
      );
      expect(await metric(registry, 'coffer_kafka_failures_total', code)).to.be.greaterThan(0);
      expect(await metric(registry, 'coffer_kafka_connected', code)).to.equal(0);
      expect(world.troubles.join() + (await registry.metrics())).to.not.include(PASSWORD);
      expect(relay.status()).to.include({ state: 'standby' });
      // Nobody else waits for Kafka.
      await world.append(sessionStream('a'), 1);
      return relay;
    };
    const publishes = async (settings: Partial<KafkaSettings>) => {
      await world.append(sessionStream('a'), 3);
      const relay = world.start({ settings: world.settings(settings) });
      await until(() => relay.status().state === 'live' && relay.status().lagEvents === 0);
    };

    it('is named when nobody answers', () => failsWith({ brokers: ['127.0.0.1:1'] }, 'kafka/unreachable'));

    it('is named when it wants TLS', () =>
      failsWith({ ...as('admin'), tls: undefined }, 'kafka/unreachable'));

    it('is named when its certificate is by nobody whom the relay trusts', async () =>
      failsWith({ ...as('admin'), tls: { authorities: (await newCertificates()).ca } }, 'kafka/unreachable'));

    it('is named when the password is wrong', () =>
      failsWith(as('admin', `not-${PASSWORD}`), 'kafka/authentication_failed'));

    it('is named when the user may only read', async () => {
      const admin = specClient(broker().inside).admin();
      await admin.connect();
      const may = { principal: 'User:reader', host: '*', permissionType: ALLOW };
      const topics = { resourceType: TOPIC, resourceName: world.prefix, resourcePatternType: PREFIXED };
      await admin.createAcls({
        acl: [READ, DESCRIBE].map((operation) => ({ ...may, ...topics, operation })),
      });
      await failsWith(as('reader'), 'kafka/not_authorized');
      await admin.disconnect();
    });

    it('is named when topics must exist and do not', () =>
      failsWith({ ...as('admin'), create: undefined }, 'kafka/topic_missing'));

    for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const) {
      it(`is nothing from a user by ${mechanism} over TLS under its own authority`, () =>
        publishes(as('admin', PASSWORD, mechanism)));
      it(`is named when the password is wrong by ${mechanism}`, () =>
        failsWith(as('admin', `not-${PASSWORD}`, mechanism), 'kafka/authentication_failed'));
    }

    it('is named when its disk is full; once there is room, each event is there once', async () => {
      await broker().restart(MOST_FILE_BYTES);
      const large = JSON.stringify({ text: 'x'.repeat(1_000_000) });
      for (let number = 0; number < LARGE_EVENTS; number++)
        await world.append(sessionStream('large'), 1, large);
      await failsWith(as('admin'), 'kafka/unreachable');
      await broker().restart();
      await world.expectTopicsToEqualLog();
    });
  },
  {
    users: { admin: PASSWORD, reader: PASSWORD },
    certificates,
  },
);
