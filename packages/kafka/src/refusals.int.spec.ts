/** What brokers refuse: each refusal has a name, and the relay goes on by itself once it is no longer refused. */
import { describeKafkaBroker, eventually, until } from '@coffer/testing';
import { expect } from 'chai';
import type { FailureCode } from './failures.ts';
import type { KafkaSettings } from './settings.ts';
import { relayWorld, sessionStream } from './testing/relayWorld.ts';

const PASSWORD = 'the-password-of-the-spec';
const sasl = (
  username: string,
  password: string,
  mechanism: NonNullable<KafkaSettings['sasl']>['mechanism'] = 'plain',
) => ({
  sasl: { mechanism, username, password },
});

describeKafkaBroker(
  'what a broker refuses',
  (broker) => {
    const world = relayWorld(() => broker().brokers);
    const failsWith = async (settings: Partial<KafkaSettings>, code: FailureCode) => {
      await world.append(sessionStream('a'), 3);
      const relay = world.start({ settings: world.settings(settings) });
      await eventually(
        () => `${code} in ${world.troubles}`,
        () => world.troubles.some((text) => text.includes(code)) || undefined,
      );
      expect(world.failures).to.include(code);
      expect(world.troubles.join()).to.not.include(PASSWORD);
      expect(relay.status()).to.include({ state: 'standby' });
      // Nobody else waits for Kafka.
      await world.append(sessionStream('a'), 1);
    };

    it('is named when nobody answers', () => failsWith({ brokers: ['127.0.0.1:1'] }, 'kafka/unreachable'));

    it('is named when the password is wrong', () =>
      failsWith(sasl('admin', `not-${PASSWORD}`), 'kafka/authentication_failed'));

    it('is named when the user may not write', () =>
      failsWith(sasl('reader', PASSWORD), 'kafka/not_authorized'));

    it('is named when topics must exist and do not', () =>
      failsWith({ ...sasl('admin', PASSWORD), create: undefined }, 'kafka/topic_missing'));

    for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const) {
      it(`is nothing from a user by ${mechanism}`, async () => {
        await world.append(sessionStream('a'), 3);
        const relay = world.start({ settings: world.settings(sasl('admin', PASSWORD, mechanism)) });
        await until(() => relay.status().state === 'live' && relay.status().lagEvents === 0);
      });
    }
  },
  { users: { admin: PASSWORD, reader: PASSWORD } },
);
