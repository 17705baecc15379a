import { forgetPlace, readCheckpoint } from '@coffer/consumers';
import { newId } from '@coffer/kernel';
import { describeKafka, eventually, until } from '@coffer/testing';
import { expect } from 'chai';
import { KAFKA_CONSUMER } from './relay.ts';
import { APP, relayWorld, sessionStream } from './testing/relayWorld.ts';
import { readTopics, specClient } from './testing/topicReader.ts';

describeKafka('the relay to Kafka', (brokers) => {
  const world = relayWorld(brokers);
  const stoppedReason = (relay: { status: () => { state: string; reason: string | undefined } }) =>
    eventually('the relay has stopped', () => {
      const { state, reason } = relay.status();
      return state === 'stopped' ? reason : undefined;
    });

  const limitTopic = async (name: string, mostBytes: number) => {
    const admin = specClient(brokers()).admin();
    await admin.connect();
    const configEntries = [{ name: 'max.message.bytes', value: String(mostBytes) }];
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name, configEntries }] });
    await admin.disconnect();
  };
  /** That of test events, as an operator makes it, for messages of so many bytes. */
  const topicOfEvents = async (mostBytes: number) => {
    const topic = `${world.prefix}.test.events`;
    const admin = specClient(brokers()).admin();
    await admin.connect();
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1 }] });
    await admin.disconnect();
    await limitTopic(topic, mostBytes);
    return topic;
  };

  // The broker of this suite may just have started, and loads its groups when the first of them is asked for.
  it('begins without trouble at a broker that is still loading', async () => {
    await world.append(sessionStream('a'), 1);
    const relay = world.start();
    await until(() => relay.status().state === 'live' && relay.status().lagEvents === 0);
    expect(world.troubles).to.deep.equal([]);
  });

  it('publishes what the log holds and what comes, each event once, each stream in order', async () => {
    await world.append(sessionStream('a'), 30);
    await world.append(sessionStream('b', 'live'), 20);
    const relay = world.start({ pageSize: 7 });
    await until(() => relay.status().state === 'live');
    await world.append(sessionStream('a'), 10);
    const messages = await world.expectTopicsToEqualLog();
    expect(new Set(messages.map(({ topic }) => topic))).to.deep.equal(
      new Set([`${world.prefix}.test.playSession`, `${world.prefix}.live.playSession`]),
    );
  });

  it('goes on where Kafka says, whatever the database says', async () => {
    await world.append(sessionStream('a'), 20);
    const first = world.start({ pageSize: 6 });
    await until(() => first.status().state === 'live' && first.status().lagEvents === 0);
    await first.stop();
    // As after a crash between the commit in Kafka and the row, or a database put back to an older state.
    await forgetPlace(world.pool, KAFKA_CONSUMER);
    await world.append(sessionStream('a'), 5);
    world.start();
    await world.expectTopicsToEqualLog();
    await until(async () => (await readCheckpoint(world.pool, KAFKA_CONSUMER))?.ordinal === 25);
  });

  it('takes over from a relay that still believes that it may write, and ends its rights', async () => {
    const commits: (() => void)[] = [];
    await world.append(sessionStream('a'), 10);
    // The lease is short, and its holder does not come to renew it.
    const late = world.start({
      pageSize: 2,
      leaseMs: 300,
      store: {
        ...world.store,
        async *subscribeToAll(options) {
          for await (const message of world.store.subscribeToAll(options)) {
            yield message;
            await new Promise<void>((resolve) => commits.push(resolve));
          }
        },
      },
    });
    await until(() => commits.length > 0);
    await forgetPlace(world.pool, KAFKA_CONSUMER);
    const next = world.start({ pageSize: 3 });
    await until(() => next.status().state === 'live');
    const release = setInterval(() => commits.splice(0).forEach((resolve) => void resolve()), 5);
    await world.append(sessionStream('a'), 10);
    await world.expectTopicsToEqualLog();
    await Promise.all([late.stop(), next.stop()]);
    clearInterval(release);
    await world.expectTopicsToEqualLog();
  });

  it('stops when the log was rewritten, and says so', async () => {
    await world.append(sessionStream('a'), 10);
    const first = world.start();
    await until(() => first.status().state === 'live' && first.status().lagEvents === 0);
    await first.stop();
    await world.pool.query('truncate log.events');
    await world.append(sessionStream('other'), 4);
    const second = world.start();
    expect(await stoppedReason(second)).to.match(/^store\/log_rewritten/);
    expect(world.alarms.map(({ code }) => code)).to.deep.equal(['store/log_rewritten']);
  });

  it('begins anew once its topics are gone', async () => {
    await world.append(sessionStream('a'), 10);
    const first = world.start();
    await until(() => first.status().state === 'live' && first.status().lagEvents === 0);
    await first.stop();
    const admin = specClient(brokers()).admin();
    await admin.connect();
    const ours = (await admin.listTopics()).filter((name) => name.startsWith(world.prefix));
    await admin.deleteTopics({ topics: ours });
    await admin.disconnect();
    world.start();
    await world.expectTopicsToEqualLog();
  });

  it('refuses a topic of places with several partitions, and publishes nothing', async () => {
    await world.append(sessionStream('a'), 3);
    const admin = specClient(brokers()).admin();
    await admin.connect();
    const topic = `${world.prefix}.relay-places`;
    const configEntries = [{ name: 'cleanup.policy', value: 'compact' }];
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 2, configEntries }] });
    const refused = world.start();
    await until(() => String(world.troubles).includes(`${topic}: 2 partitions`));
    expect(world.failures).to.include('kafka/places_partitioned');
    await refused.stop();
    expect(await admin.listTopics()).to.not.include(`${world.prefix}.test.playSession`);

    await admin.deleteTopics({ topics: [topic] });
    await admin.disconnect();
    world.start();
    await world.expectTopicsToEqualLog();
  });

  it('publishes the largest event that the log takes, and many large ones', async () => {
    for (let number = 0; number < 8; number++) {
      await world.append(
        sessionStream('a'),
        1,
        JSON.stringify({ text: 'x'.repeat(number % 2 ? 400_000 : 1_040_000) }),
      );
    }
    world.start();
    await world.expectTopicsToEqualLog();
  });

  it('stops before an event that its topic does not take, names it, and has published all before it', async () => {
    await world.append(sessionStream('a'), 25);
    const first = world.start();
    await until(() => first.status().state === 'live' && first.status().lagEvents === 0);
    await first.stop();
    const topic = `${world.prefix}.test.playSession`;
    await limitTopic(topic, 20_000);
    await world.append(sessionStream('a'), 100);
    await world.append(sessionStream('b'), 1, JSON.stringify({ text: 'x'.repeat(30_000) }));
    await world.append(sessionStream('a'), 5);
    const second = world.start();
    expect(await stoppedReason(second)).to.match(
      /^consumer\/poison_event: BetPlaced at revision 0 of playSession-test\..*\.b .*kafka\/message_too_large/,
    );
    expect((await readTopics(brokers(), new Set([topic]), (read) => read.length >= 125)).length).to.equal(
      125,
    );

    // The topic takes it after all.
    await second.stop();
    await limitTopic(topic, 200_000);
    world.start();
    await world.expectTopicsToEqualLog();
  });

  it('sends envelopes in smaller batches to a topic that takes less, and facts meanwhile', async () => {
    const topic = await topicOfEvents(20_000);
    world.told.tell(APP, 'test', 200, 1_000);
    await world.append(sessionStream('a'), 5);
    world.start();
    const messages = await readTopics(brokers(), new Set([topic]), (read) => read.length >= 200);
    expect(messages.map(({ headers }) => Number(headers.sequence))).to.deep.equal(
      Array.from({ length: 200 }, (_, index) => index + 1),
    );
    await world.expectTopicsToEqualLog();
    expect(world.alarms).to.deep.equal([]);
    // Each refusal ends a session, whose open transaction holds up none that follows; each teaches, and none is repeated.
    expect(new Set(world.failures)).to.deep.equal(new Set(['kafka/message_too_large']));
    expect(world.failures.length).to.be.lessThan(7);
  });

  it('stops before an envelope that its topic does not take, names its source, and has published all before it', async () => {
    const topic = await topicOfEvents(20_000);
    await world.append(sessionStream('a'), 1);
    world.told.tell(APP, 'test', 30, 1_000);
    world.told.tell(APP, 'test', 1, 30_000);
    world.told.tell(APP, 'test', 2);
    const relay = world.start();
    expect(await stoppedReason(relay)).to.match(
      /^consumer\/poison_event: BetPlaced at revision 0 of playSession-test\..*\.a .*kafka\/message_too_large.*31 of app_/,
    );
    const messages = await readTopics(brokers(), new Set([topic]), (read) => read.length >= 30);
    expect(messages.length).to.equal(30);

    // The topic takes it after all.
    await relay.stop();
    await limitTopic(topic, 200_000);
    world.start();
    const all = await readTopics(brokers(), new Set([topic]), (read) => read.length >= 33);
    expect(all.map(({ headers }) => Number(headers.sequence))).to.deep.equal(
      Array.from({ length: 33 }, (_, index) => index + 1),
    );
  });

  it('passes on what webhooks tell, by app, each once, with the number before it in the same environment', async () => {
    world.told.tell(APP, 'test', 3);
    const first = world.start();
    await until(() => first.status().state === 'live');
    world.told.tell(APP, 'live', 2);
    world.told.tell(APP, 'test', 500);
    const events = new Set([`${world.prefix}.test.events`, `${world.prefix}.live.events`]);
    await readTopics(brokers(), events, (read) => read.length >= 505);
    await first.stop();
    world.told.tell(APP, 'test', 2);
    world.start();
    const messages = await readTopics(brokers(), events, (read) => read.length >= 507);
    const told = (environment: string) =>
      messages
        .filter(({ topic }) => topic === `${world.prefix}.${environment}.events`)
        .map(({ key, value, headers }) => {
          expect(key).to.equal(APP);
          const { sequence, previousSequence } = JSON.parse(value);
          expect(headers).to.deep.equal({
            'content-type': 'application/json',
            type: 'user.created',
            app: APP,
            sequence: String(sequence),
          });
          return [previousSequence, sequence];
        });
    const pairs = (sequences: readonly number[]) =>
      sequences.map((sequence, index) => [sequences[index - 1] ?? null, sequence]);
    expect(told('live')).to.deep.equal(pairs([4, 5]));
    expect(told('test')).to.deep.equal(
      pairs([1, 2, 3, ...Array.from({ length: 502 }, (_, index) => index + 6)]),
    );
  });

  it('says up to where what webhooks tell need not be kept any longer, also when it begins', async () => {
    world.told.tell(APP, 'test', 3);
    const first = world.start();
    await until(() => world.told.passed.get(APP) === 3);
    world.told.tell(APP, 'live', 2);
    await until(() => world.told.passed.get(APP) === 5);
    await first.stop();
    await world.told.keepOnlyAfter([{ appId: 'app_of_another_prefix', sequence: 7 }]);
    world.start();
    await until(() => world.told.passed.get(APP) === 5);
    expect([...world.told.passed.keys()]).to.deep.equal([APP]);
  });

  it('never hides what was no longer kept when it came: readers and operators see that it is missing', async () => {
    world.told.tell(APP, 'test', 3);
    const first = world.start();
    await until(() => world.told.passed.get(APP) === 3);
    await first.stop();
    world.told.tell(APP, 'live', 5);
    world.told.prune(APP, 8);
    world.told.tell(APP, 'test', 2);
    world.told.tell(APP, 'live', 2);
    // These have nothing that is kept, and hold nobody up.
    for (let number = 0; number < 60; number++) {
      const appId = newId('app');
      world.told.tell(appId, 'test', 1);
      world.told.prune(appId, 1);
    }
    const lateApp = newId('app');
    world.told.tell(lateApp, 'test', 4);
    world.told.prune(lateApp, 3);
    world.start();
    const events = new Set([`${world.prefix}.test.events`, `${world.prefix}.live.events`]);
    const messages = await readTopics(brokers(), events, (read) => read.length >= 8);
    const told = (environment: string, appId: string) =>
      messages
        .filter(({ topic, key }) => topic === `${world.prefix}.${environment}.events` && key === appId)
        .map(({ value }) => JSON.parse(value))
        .map(({ sequence, previousSequence }) => [previousSequence, sequence]);
    expect(told('test', APP).slice(3)).to.deep.equal([
      [8, 9],
      [9, 10],
    ]);
    expect(told('live', APP)).to.deep.equal([
      [8, 11],
      [11, 12],
    ]);
    expect(told('test', lateApp)).to.deep.equal([[3, 4]]);
    expect(world.failures).to.deep.equal(['kafka/events_pruned']);
    expect(world.troubles.join()).to.include(`${APP}: 4 to 8, ${lateApp}: 1 to 3`);
  });

  for (const [what, change] of [
    ['has another event under a number', () => world.told.rewrite(APP, 3)],
    ['has fewer numbers', () => world.told.cut(APP, 2)],
  ] as const) {
    it(`stops when what webhooks tell ${what} than Kafka was told`, async () => {
      world.told.tell(APP, 'test', 3);
      const first = world.start();
      const events = new Set([`${world.prefix}.test.events`]);
      await readTopics(brokers(), events, (read) => read.length >= 3);
      await first.stop();
      change();
      expect(await stoppedReason(world.start())).to.match(/^store\/log_rewritten/);
    });
  }
});
