/** A real Kafka broker for specs: one node, in KRaft mode, on free ports of this machine. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Certificates } from './certificates.ts';
import { leaveOut } from './eventStores.ts';
import { kafkaJars, whyNoBroker } from './kafkaArtifacts.ts';
import { freePortPair } from './ports.ts';
import { eventually } from './waiting.ts';

interface KafkaBroker {
  /** `host:port`, for KAFKA_BROKERS. */
  readonly brokers: string;
  /** The same, without TLS and with every right: for what a spec itself reads and changes. */
  readonly inside: string;
  readonly pid: () => number;
  /** SIGKILL. Resolves when the process is gone. */
  readonly kill9: () => Promise<void>;
  /** Starts it again on the same port with the same files, of which none may become larger than so many bytes: a disk that is full. */
  readonly restart: (mostFileBytes?: number) => Promise<void>;
  /** What a program of the artifacts prints until it ends, such as `org.apache.kafka.tools.consumer.ConsoleConsumer`. */
  readonly tool: (main: string, args: readonly string[]) => Promise<string>;
  /** Ends it and removes its files. */
  readonly stop: () => Promise<void>;
}

interface KafkaBrokerOptions {
  /** Added to its `server.properties`. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Whoever connects needs one of these passwords; `admin` may do everything, the others nothing until they are allowed to. */
  readonly users?: Readonly<Record<string, string>>;
  /** Whoever connects needs TLS. */
  readonly certificates?: Pick<Certificates, 'cert' | 'key'>;
  /** Takes only what others leave of the processors, as if it were on another machine. */
  readonly givesWay?: boolean;
}

/** Of the log of a broker that does not start. */
const LINES_SHOWN = 50;
const CLUSTER_ID = 'Y29mZmVyLXNwZWNzLWthZg';

/** Of a broker that runs already, for specs that do not kill it. */
export const givenBrokers = (): string | undefined => process.env.KAFKA_TEST_BROKERS;

/**
 * A suite that speaks with a broker: the one that KAFKA_TEST_BROKERS names, or a new one. Without either it is left out,
 * which the end of the run says.
 */
export function describeKafka(title: string, define: (brokers: () => string) => void): void {
  const given = givenBrokers();
  if (given === undefined) describeKafkaBroker(title, (broker) => define(() => broker().brokers));
  else describe(title, () => define(() => given));
}

/** A suite with a new broker, which it may kill or close to others. */
export function describeKafkaBroker(
  title: string,
  define: (broker: () => KafkaBroker) => void,
  options: KafkaBrokerOptions = {},
): void {
  const why = whyNoBroker();
  if (why !== undefined) {
    leaveOut(title, why);
    return;
  }
  describe(title, () => {
    let started: KafkaBroker | undefined;
    before(async () => {
      started = await startKafkaBroker(options);
    });
    after(() => started?.stop());
    define(() => {
      if (!started) throw new Error('The broker is asked for before it runs.');
      return started;
    });
  });
}

/** For programs; specs say `describeKafkaBroker`. */
export async function startKafkaBroker(options: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
  const jars = await kafkaJars();
  archived ??= archiveClasses(jars);
  return launchBroker(jars, await archived, options);
}

let archived: Promise<readonly string[]> | undefined;

/** With its classes as Java keeps them in memory, a broker starts in half of the processor time. Gives the flags for that. */
async function archiveClasses(jars: string): Promise<readonly string[]> {
  const archive = join(jars, 'classes.jsa');
  if (!existsSync(archive)) {
    // Several processes may make one at once.
    const draft = `${archive}.${process.pid}`;
    const broker = await launchBroker(jars, [`-XX:ArchiveClassesAtExit=${draft}`], {});
    await broker.terminate().finally(() => broker.stop());
    // Not every Java makes one.
    if (!existsSync(draft)) return [];
    await rename(draft, archive);
  }
  // One of another Java is passed over in silence: standard output is that of the tools.
  return [`-XX:SharedArchiveFile=${archive}`, '-Xlog:disable'];
}

async function launchBroker(
  jars: string,
  flags: readonly string[],
  options: KafkaBrokerOptions,
): Promise<KafkaBroker & { readonly terminate: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-kafka-'));
  await chmod(folder, 0o711);
  const port = await freePortPair();
  const insidePort = await freePortPair();
  const properties = join(folder, 'server.properties');
  await writeFile(properties, serverProperties(folder, { port, insidePort }, options));
  const java = (main: string, ...args: readonly string[]) => [
    ...['-Xmx320m', '-Xms96m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...flags],
    ...['-Dorg.slf4j.simpleLogger.defaultLogLevel=error', '-cp', `${jars}/*`],
    ...[main, ...args],
  ];
  const scram = Object.entries(options.users ?? {}).flatMap(([user, password]) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
      '--add-scram',
      `${mechanism}=[name=${user},password=${password}]`,
    ]),
  );
  const format = ['format', '--standalone', '--cluster-id', CLUSTER_ID, '--config', properties, ...scram];
  await promisify(execFile)('java', java('kafka.tools.StorageTool', ...format));

  let running = await start();
  return {
    brokers: `127.0.0.1:${port}`,
    inside: `127.0.0.1:${insidePort}`,
    pid: () => running.pid,
    kill9: () => running.kill9(),
    async restart(mostFileBytes) {
      await running.kill9();
      running = await start(mostFileBytes);
    },
    async tool(main, args) {
      const { stdout } = await promisify(execFile)('java', java(main, ...args), {
        maxBuffer: 1024 ** 3,
      });
      return stdout;
    },
    async terminate() {
      process.kill(running.pid, 'SIGTERM');
      await eventually('the broker has ended', () => hasEnded() || undefined);
    },
    stop: () => running.stop(),
  };

  function hasEnded(): boolean {
    return existsSync(join(folder, 'ended'));
  }

  async function lastLines(): Promise<string> {
    return (await readFile(join(folder, 'log'), 'utf8')).split('\n').slice(-LINES_SHOWN).join('\n');
  }

  async function start(mostFileBytes?: number) {
    const blocks = mostFileBytes === undefined ? 'unlimited' : String(mostFileBytes / 512);
    // When this process is gone, however it ended, its end of the pipe closes: then nothing of the broker is left.
    const script = `ulimit -f ${blocks}; folder=$1; shift; rm -f "$folder/ended"
      "$@" </dev/null >>"$folder/log" 2>&1 & broker=$!; echo $broker; exec 3<&0
      { read -r keep; kept=$?; [ -e "$folder/ended" ] || kill -9 $broker; exit $kept; } <&3 & reader=$!
      wait $broker; : >"$folder/ended"; wait $reader || rm -rf "$folder"`;
    const niceness = options.givesWay ? ['nice', '-n', '19'] : [];
    const shell = spawn(
      '/bin/sh',
      ['-c', script, 'sh', folder, ...niceness, 'java', ...java('kafka.Kafka', properties)],
      // In a session of its own, so that Ctrl-C in a terminal does not reach it.
      { stdio: ['pipe', 'pipe', 'ignore'], detached: true },
    );
    const ended = once(shell, 'close');
    const pid = Number(String((await once(shell.stdout, 'data'))[0]));
    const end = async (how: 'keep\n' | undefined) => {
      if (shell.exitCode === null) shell.stdin.end(how);
      await ended;
    };
    try {
      await eventually('the broker listens', async () => {
        if (hasEnded()) throw new Error(`The broker has ended:\n${await lastLines()}`);
        return (await listens(port)) || undefined;
      });
    } catch (error) {
      await end(undefined);
      throw error;
    }
    return { pid, kill9: () => end('keep\n'), stop: () => end(undefined) };
  }
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => {
    socket.destroy();
    resolve(true);
  });
  socket.once('error', () => resolve(false));
  return promise;
}

function serverProperties(
  folder: string,
  { port, insidePort }: Readonly<Record<'port' | 'insidePort', number>>,
  { users, certificates, properties }: KafkaBrokerOptions,
): string {
  const protocol = `${users ? 'SASL_' : ''}${certificates ? 'SSL' : 'PLAINTEXT'}`;
  const plainUsers = Object.entries(users ?? {}).map(([user, password]) => `user_${user}="${password}"`);
  const jaas = (mechanism: string, login: string) =>
    `org.apache.kafka.common.security.${mechanism} required ${login};`;
  const secured = {
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.broker.plain.sasl.jaas.config': jaas('plain.PlainLoginModule', plainUsers.join(' ')),
    'listener.name.broker.scram-sha-256.sasl.jaas.config': jaas('scram.ScramLoginModule', ''),
    'listener.name.broker.scram-sha-512.sasl.jaas.config': jaas('scram.ScramLoginModule', ''),
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:admin;User:ANONYMOUS',
  };
  const inOneLine = (pem: string) => pem.trim().replaceAll('\n', '\\n');
  const encrypted = certificates && {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.certificate.chain': inOneLine(certificates.cert),
    'ssl.keystore.key': inOneLine(certificates.key),
  };
  const all = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.bootstrap.servers': `127.0.0.1:${port + 1}`,
    listeners: `BROKER://127.0.0.1:${port},CONTROLLER://127.0.0.1:${port + 1},INSIDE://127.0.0.1:${insidePort}`,
    'advertised.listeners': `BROKER://127.0.0.1:${port},INSIDE://127.0.0.1:${insidePort}`,
    'listener.security.protocol.map': `BROKER:${protocol},CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'INSIDE',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.num.partitions': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.num.partitions': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    // A lone node waits for nobody when it starts again.
    'controller.quorum.election.timeout.ms': '200',
    ...(users && secured),
    ...encrypted,
    ...properties,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
