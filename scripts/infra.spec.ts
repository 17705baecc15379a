/**
 * No container engine runs here. What can be checked without one is checked: that infra/ agrees with itself
 * and with the code. Every rule is also tried against files that break it.
 */
import { expect } from 'chai';
import { EXAMPLE_VALUES, findingsOf } from './infra/checks.ts';
import { parseCompose } from './infra/composeFile.ts';
import { type InstallationFiles, readCodeFacts, readInstallationFiles } from './infra/installation.ts';

const files = readInstallationFiles();
const code = readCodeFacts();

type Spoiling = readonly [name: keyof InstallationFiles, from: string, to: string];

/** The files, with a text in one of them replaced everywhere. */
function spoilt([name, from, to]: Spoiling): InstallationFiles {
  expect(files[name], `${name} no longer has what this spoils`).to.include(from);
  return { ...files, [name]: files[name].replaceAll(from, to) };
}

describe('infra/', () => {
  it('agrees with itself and with the code', () => {
    expect(findingsOf(files, code)).to.deep.equal([]);
  });

  it('has clusters of three nodes for the log and for Kafka, PostgreSQL, and a container for each role', () => {
    const { services } = parseCompose(files['compose.yaml'], EXAMPLE_VALUES);
    expect(Object.keys(services)).to.have.members([
      'certificates',
      'eventstore1',
      'eventstore2',
      'eventstore3',
      'postgres',
      'log-user',
      'kafka1',
      'kafka2',
      'kafka3',
      ...code.roles,
    ]);
  });

  /** In `compose.yaml`. */
  const spoilings: readonly (readonly [finding: string, from: string, to: string])[] = [
    ['the volume evenstore2 is not declared', '- eventstore2:/var', '- evenstore2:/var'],
    ['the volume old is not used', '  postgres: {}\n', '  postgres: {}\n  old: {}\n'],
    ['the network font is not declared', 'database, front]', 'database, font]'],
    ['the network front is not used', ', front]', ']'],
    ['./certs.sh is mounted but does not exist', './certificates.sh:', './certs.sh:'],
    ['api depends on pg, which is not a service', 'postgres: { cond', 'pg: { cond'],
    [
      'api waits for the health of certificates, which has no health check',
      'postgres: { condition: service_healthy }',
      'certificates: { condition: service_healthy }',
    ],
    ['api sets COFFER_TRUST, which the conf', 'COFFER_TRUST_PROXY: $', 'COFFER_TRUST: $'],
    ['api would not start: The configuration is wrong:\n  PORT', "PORT: '8080'", 'PORT: http'],
    [
      'eventstore1 sets KURRENTDB_NODEPORT, ',
      '  KURRENTDB_NODE_IP',
      '  KURRENTDB_NODEPORT: "1"\n  KURRENTDB_NODE_IP',
    ],
    ['postgres sets PGPORT, which nobody reads', 'POSTGRES_USER: coffer', 'PGPORT: coffer'],
    [
      'the secret COFFER_SECRETS_KEY has a value without',
      '{COFFER_SECRETS_KEY:?see infra/.env.example}',
      '{COFFER_SECRETS_KEY:-}',
    ],
    [
      'projector makes its own COFFER_IDENTITY_KEY at each start',
      '  COFFER_IDENTITY_KEY:',
      '  COFFER_IDENTITY:',
    ],
    [
      'process-manager lacks the master keys',
      '*coffer-system-environment\n      COFFER_MASTER_KEYS:',
      '*coffer-system-environment\n      COFFER_MASTER:',
    ],
    ['reconciler is given the master keys', "COFFER_SYSTEM_PORT: '8080'", "COFFER_MASTER_KEYS: ''"],
    [
      'reconciler is given 0 chains',
      '    environment:\n      <<: [*coffer-system-environment, *chain-environment]\n    networks',
      '    environment: *coffer-system-environment\n    networks',
    ],
    ['api is given 1 chains', 'SOLANA_LIVE_RPC_URL: $', 'SOLANA_LIFE_RPC_URL: $'],
    ['chain-worker does not reach the outside', '[log, database, chain]', '[log, database]'],
    ['projector reaches the outside', 'networks: [log, database]', 'networks: [log, database, front]'],
    ['reconciler runs reconcile, which is not a role', '[run, reconciler]', '[run, reconcile]'],
    ['no container runs the role reconciler', '[run, reconciler]', '[run, projector]'],
    ['two containers run the same role', '[run, reconciler]', '[run, projector]'],
    ['api does not run one role', '[run, api]', '[run]'],
    ['projector can write to its file system', 'read_only: true', 'read_only: false'],
    ['projector has no place in memory for its data', '- /run/coffer:', '- /run/data:'],
    ['projector is killed before its ten seconds', 'stop_grace_period: 15s', 'stop_grace_period: 10s'],
    ['the image postgres:latest has no version', 'postgres:18.4', 'postgres:latest'],
    ['the image postgres has no version', 'image: postgres:18.4', 'image: postgres'],
    ['api is built from infra/Containerfile', 'infra/Dockerfile', 'infra/Containerfile'],
    ['eventstore1 expects 5 nodes of 3', "CLUSTER_SIZE: '3'", "CLUSTER_SIZE: '5'"],
    ['eventstore1 looks for eventstore2:2113', 'eventstore2:2113,eventstore3:2113\n', 'eventstore2:2113\n'],
    [
      'eventstore2 tells others that it is eventstore1',
      'ADVERTISE_AS: eventstore2',
      'ADVERTISE_AS: eventstore1',
    ],
    ['eventstore2 has no volume for its data', '- eventstore2:/', '- eventstore1:/'],
    ['certificates are made for eventstore1, node2', '[eventstore1, eventstore2,', '[eventstore1, node2,'],
    [
      'eventstore3 does not have its own certificate',
      'certificate-eventstore3:/certificates/own',
      'certificate-eventstore1:/certificates/own',
    ],
    [
      'the certificate of eventstore3 is not kept',
      '      - certificate-eventstore3:/certificates/eventstore3\n',
      '',
    ],
    [
      'eventstore1 trusts another authority',
      'CERTIFICATES_PATH: /certificates/ca',
      'CERTIFICATES_PATH: /etc/ssl',
    ],
    ['eventstore1 does not wait for its certificate', 'service_completed_successfully', 'service_started'],
    [
      'api does not know the authority',
      '- certificate-ca:/certificates/ca:ro\n  read',
      '- certificate-ca:/ca:ro\n  read',
    ],
    [
      'postgres is given the key of the authority',
      '- postgres:/var/lib/postgresql',
      '- postgres:/var/lib/postgresql\n      - certificate-authority:/authority',
    ],
    ['api has another DATABASE_URL', '@postgres:5432/coffer', '@postgres:5433/coffer'],
    ['api does not reach postgres', '[log, database, front]', '[log, front]'],
    ['api does not reach eventstore1', '[log, database, front]', '[database, front]'],
    ['api looks for the log at eventstore1:2113,', 'eventstore3:2113?', 'eventstore4:2113?'],
    ['api does not check who the log is', '?tls=true&tlsCAFile=', '?tls=true&tlsVerifyCert=false&tlsCAFile='],
    [
      'log-user has another password than eventstore1',
      'admin:${EVENTSTORE_ADMIN_PASSWORD',
      'admin:${EVENTSTORE_OPS_PASSWORD',
    ],
    ['api is an administrator of the log', 'esdb://coffer:', 'esdb://admin:'],
    ['0 containers make the user of the log', '[log, grant]', '[run, grant]'],
    ['log-user does not make the user of the log', '[log, grant]', '[log, check]'],
    ['log-user does not end', 'restart: on-failure', 'restart: unless-stopped'],
    [
      'log-user is given COFFER_MASTER_KEYS',
      '      EVENTSTORE_ADMIN_URL:',
      '      COFFER_MASTER_KEYS: none\n      EVENTSTORE_ADMIN_URL:',
    ],
    [
      'log-user makes the user on another server',
      'EVENTSTORE_ADMIN_PASSWORD:?see infra/.env.example}@eventstore1:2113,',
      'EVENTSTORE_ADMIN_PASSWORD:?see infra/.env.example}@',
    ],
    [
      'log-user is given EVENTSTORE_PASSWORT',
      '      EVENTSTORE_URL: *eventstore-url',
      '      EVENTSTORE_PASSWORT: *eventstore-url',
    ],
    [
      'api is another user of the log than log-user makes',
      '      EVENTSTORE_URL: *eventstore-url',
      '      EVENTSTORE_URL: esdb://other:secret@eventstore1:2113?tls=true',
    ],
    [
      'api does not wait for its user of the log',
      '    log-user: { condition: service_completed_successfully }\n',
      '',
    ],
    [
      'log-user does not reach eventstore1',
      'networks: [log]\n\n  # Apps',
      'networks: [database]\n\n  # Apps',
    ],
    ['the health check of eventstore1 asks elsewhere', 'localhost:2113/', 'localhost:2114/'],
    ['api listens on 8081; published is 8080, 8080', "PORT: '8080'", "PORT: '8081'"],
    ['the health check of api does not ask /readyz', '8080/readyz', '8080/ready'],
    ['kafka1 sets KAFKA_MIN_ISR, ', 'KAFKA_MIN_INSYNC_REPLICAS:', 'KAFKA_MIN_ISR:'],
    [
      'kafka2 does not keep each message on two',
      "KAFKA_MIN_INSYNC_REPLICAS: '2'",
      "KAFKA_MIN_INSYNC_REPLICAS: '1'",
    ],
    ['two nodes of Kafka have the same id', "KAFKA_NODE_ID: '2'", "KAFKA_NODE_ID: '1'"],
    ['kafka1 votes with 1@kafka1:9093,2@kafka2:9093, not', ',3@kafka3:9093', ''],
    [
      'kafka3 tells others that it is at CLIENTS://kafka2:9092',
      'CLIENTS://kafka3:9092',
      'CLIENTS://kafka2:9092',
    ],
    ['kafka2 has no volume for its data', '- kafka2:/var/lib/kafka/data', '- kafka2:/var/lib/kafka'],
    ['kafka-relay looks for Kafka at kafka1:9092,kafka2:9092, not', 'kafka2:9092,kafka3:9092', 'kafka2:9092'],
    ['kafka1 does not know the user of kafka-relay', 'user_coffer=', 'user_relay='],
    ['kafka-relay does not reach kafka1', '[log, database, kafka]', '[log, database]'],
    [
      'kafka1 is not started together with kafka-relay',
      '    profiles: [kafka]\n    command',
      '    profiles: [relay]\n    command',
    ],
    ['api listens on no address that others can reach', 'HOST: 0.0.0.0', 'HOST: 127.0.0.1'],
    ['api is open to other machines', 'host_ip: 127.0.0.1', 'host_ip: 0.0.0.0'],
  ];
  const elsewhere: readonly (readonly [finding: string, ...Spoiling])[] = [
    ['.env.example does not name LOG_LEVEL', '.env.example', 'LOG_LEVEL=info', ''],
    ['.env.example names LOG, which compose.yaml does not', '.env.example', 'LOG_LEVEL=info', 'LOG=info'],
    [
      '.env.example names a variable twice',
      '.env.example',
      'LOG_LEVEL=info',
      'LOG_LEVEL=info\nLOG_LEVEL=info',
    ],
    ['.env.example gives LOG_LEVEL as "warn"', '.env.example', 'LOG_LEVEL=info', 'LOG_LEVEL=warn'],
    [
      '.env.example gives POSTGRES_PASSWORD as "s3cret"',
      '.env.example',
      '\nPOSTGRES_PASSWORD=',
      '\nPOSTGRES_PASSWORD=s3cret',
    ],
    ['the image node:24-slim has no version', 'Dockerfile', `node:${code.nodeVersion}-slim`, 'node:24-slim'],
    ['the image is not of Node', 'Dockerfile', `node:${code.nodeVersion}-slim`, 'node:22.1.0-slim'],
    ['the Dockerfile copies service, which does not exist', 'Dockerfile', 'COPY services ', 'COPY service '],
    ['the Dockerfile copies package.json, ', 'Dockerfile.dockerignore', '!services\n', ''],
    [
      'the entry point services/coffer/coffer.mjs does not exist',
      'Dockerfile',
      '/bin/coffer.mjs',
      '/coffer.mjs',
    ],
    [
      'the entry point services/coffer/bin/coffer.mjs is not copied',
      'Dockerfile',
      'COPY services services',
      '',
    ],
    [
      'the entry point has the flags ; npm start has',
      'Dockerfile',
      '"--max-semi-space-size=16", "--v8-pool-size=0", "--use-largepages=silent", ',
      '',
    ],
    ['the image runs as root', 'Dockerfile', 'USER node', ''],
    ['certificates.sh does not put the name', 'certificates.sh', '"$node,localhost"', 'localhost'],
    ['api listens on 8080; published is 8080, 80', 'Dockerfile', 'EXPOSE 8080', 'EXPOSE 80'],
  ];

  const all = [
    ...spoilings.map(([finding, ...texts]) => [finding, 'compose.yaml', ...texts] as const),
    ...elsewhere,
  ];
  for (const [finding, ...spoiling] of all) {
    it(`would be found: ${finding.split('\n')[0]}`, () => {
      const found = findingsOf(spoilt(spoiling), code);
      expect(
        found.some((one) => one.startsWith(finding)),
        found.join('\n'),
      ).to.equal(true);
    });
  }

  it('has nothing in the compose file that compose would not understand, and no variable without a value', () => {
    const unreadable: readonly Spoiling[] = [
      ['compose.yaml', 'restart: unless-stopped', 'restarts: unless-stopped'],
      ['compose.yaml', 'retries: 24', 'retries: many'],
      ['compose.yaml', 'services:\n', 'service:\n'],
      ['compose.yaml', '<<: *eventstore\n', '<<: *node\n'],
      ['compose.yaml', '{LOG_LEVEL:-info}', '{LOG_LEVEL:?say one}'],
    ];
    for (const spoiling of unreadable) {
      expect(() => findingsOf(spoilt(spoiling), code), spoiling.join(' ')).to.throw();
    }
  });
});
