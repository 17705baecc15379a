/**
 * Relays and their broker are killed and paused while the log grows. COFFER_KAFKA_EVENTS and COFFER_KAFKA_KILLS make it a
 * longer run.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeKafkaBroker, eventually } from '@coffer/testing';
import { expect } from 'chai';
import type { RelayProcessOptions } from './testing/relayProcess.ts';
import { relayWorld, sessionStream, wholeLog } from './testing/relayWorld.ts';

const EVENTS = Number(process.env.COFFER_KAFKA_EVENTS ?? 5_000);
const KILLS = Number(process.env.COFFER_KAFKA_KILLS ?? 5);
const STREAMS = 40;
const LEASE_MS = 1_000;

describeKafkaBroker('relays and a broker that are killed again and again', (broker) => {
  const world = relayWorld(() => broker().brokers);
  let relays: ChildProcess[] = [];

  const startOne = (): ChildProcess => {
    const options: RelayProcessOptions = {
      databaseUrl: world.databaseUrl,
      settings: world.settings(),
      leaseMs: LEASE_MS,
    };
    return fork(fileURLToPath(import.meta.resolve('./testing/relayProcess.ts')), [JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
  };
  const kill = async (index: number) => {
    const relay = relays[index];
    if (!relay) throw new Error('There are two relays.');
    const exit = once(relay, 'exit');
    relay.kill('SIGKILL');
    await exit;
  };
  const replace = async (...indexes: readonly number[]) => {
    await Promise.all(indexes.map(kill));
    for (const index of indexes) relays[index] = startOne();
  };
  const faults: readonly (() => Promise<void>)[] = [
    () => replace(0),
    () => broker().restart(),
    () => replace(0, 1),
    async () => {
      for (const relay of relays) {
        relay.kill('SIGSTOP');
        await delay(2 * LEASE_MS);
        relay.kill('SIGCONT');
      }
    },
    async () => {
      await Promise.all([replace(0, 1), broker().restart()]);
    },
  ];

  it('leave each event in the topics once, and each stream in order', async () => {
    relays = [startOne(), startOne()];
    let isOver = false;
    let written = 0;
    const writing = (async () => {
      const perRound = Math.ceil(EVENTS / (KILLS * 20));
      while (!isOver || written < EVENTS) {
        await world.append(sessionStream(`s${written % STREAMS}`), perRound);
        written += perRound;
        if (!isOver) await delay(100);
      }
    })();
    try {
      for (let number = 0; number < KILLS; number++) {
        await delay(1_000 + (number % 7) * 150);
        await faults[number % faults.length]?.();
      }
      isOver = true;
      await writing;
      await world.expectTopicsToEqualLog();

      const topic = `${world.prefix}.test.playSession`;
      const printed = await broker().tool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
        ...['--bootstrap-server', broker().brokers, '--topic', topic, '--from-beginning'],
        ...['--isolation-level', 'read_committed', '--timeout-ms', '10000'],
      ]);
      const ids = printed
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id);
      const log = await wholeLog(world.store);
      expect(ids.length).to.equal(log.length);
      expect(new Set(ids)).to.deep.equal(new Set(log.map(({ id }) => id)));
    } finally {
      isOver = true;
      await writing;
      await eventually('the relays are gone', async () => {
        for (const relay of relays) relay.kill('SIGKILL');
        return relays.every((relay) => relay.exitCode !== null || relay.signalCode !== null) || undefined;
      });
    }
  });
});
