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

  it('has a cluster of three nodes, PostgreSQL and a container for each role', () => {
    const { services } = parseCompose(files['compose.yaml'], EXAMPLE_VALUES);
    expect(Object.keys(services)).to.have.members([
      'certificates',
      'eventstore1',
      'eventstore2',
      'eventstore3',
      'postgres',
      'log-user',
      ...code.roles,
    ]);
  });

  const spoilings: readonly (readonly [finding: string, ...Spoiling])[] = [
    ['the volume evenstore2 is not declared', 'compose.yaml', '- eventstore2:/var', '- evenstore2:/var'],
    ['the volume old is not used', 'compose.yaml', '  postgres: {}\n', '  postgres: {}\n  old: {}\n'],
    ['the network font is not declared', 'compose.yaml', 'database, front]', 'database, font]'],
    ['the network front is not used', 'compose.yaml', ', front]', ']'],
    ['./certs.sh is mounted but does not exist', 'compose.yaml', './certificates.sh:', './certs.sh:'],
    ['api depends on pg, which is not a service', 'compose.yaml', 'postgres: { cond', 'pg: { cond'],
    [
      'api waits for the health of certificates, which has no health check',
      'compose.yaml',
      'postgres: { condition: service_healthy }',
      'certificates: { condition: service_healthy }',
    ],
    ['api sets COFFER_TRUST, which the conf', 'compose.yaml', 'COFFER_TRUST_PROXY: $', 'COFFER_TRUST: $'],
    [
      'api would not start: The configuration is wrong:\n  PORT',
      'compose.yaml',
      "PORT: '8080'",
      'PORT: http',
    ],
    [
      'eventstore1 sets KURRENTDB_NODEPORT, ',
      'compose.yaml',
      '  KURRENTDB_NODE_IP',
      '  KURRENTDB_NODEPORT: "1"\n  KURRENTDB_NODE_IP',
    ],
    ['postgres sets PGPORT, which nobody reads', 'compose.yaml', 'POSTGRES_USER: coffer', 'PGPORT: coffer'],
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
    [
      'the secret COFFER_SECRETS_KEY has a value without',
      'compose.yaml',
      '{COFFER_SECRETS_KEY:?see infra/.env.example}',
      '{COFFER_SECRETS_KEY:-}',
    ],
    [
      'projector makes its own COFFER_IDENTITY_KEY at each start',
      'compose.yaml',
      '  COFFER_IDENTITY_KEY:',
      '  COFFER_IDENTITY:',
    ],
    [
      'process-manager lacks the master keys',
      'compose.yaml',
      '*coffer-system-environment\n      COFFER_MASTER_KEYS:',
      '*coffer-system-environment\n      COFFER_MASTER:',
    ],
    [
      'reconciler is given the master keys',
      'compose.yaml',
      "COFFER_SYSTEM_PORT: '8080'",
      "COFFER_MASTER_KEYS: ''",
    ],
    [
      'reconciler is given 0 chains',
      'compose.yaml',
      '    environment:\n      <<: [*coffer-system-environment, *chain-environment]\n    networks',
      '    environment: *coffer-system-environment\n    networks',
    ],
    ['api is given 1 chains', 'compose.yaml', 'SOLANA_LIVE_RPC_URL: $', 'SOLANA_LIFE_RPC_URL: $'],
    ['chain-worker does not reach the outside', 'compose.yaml', '[log, database, chain]', '[log, database]'],
    [
      'projector reaches the outside',
      'compose.yaml',
      'networks: [log, database]',
      'networks: [log, database, front]',
    ],
    [
      'reconciler runs reconcile, which is not a role',
      'compose.yaml',
      '[run, reconciler]',
      '[run, reconcile]',
    ],
    ['no container runs the role reconciler', 'compose.yaml', '[run, reconciler]', '[run, projector]'],
    ['two containers run the same role', 'compose.yaml', '[run, reconciler]', '[run, projector]'],
    ['api does not run one role', 'compose.yaml', '[run, api]', '[run]'],
    ['projector can write to its file system', 'compose.yaml', 'read_only: true', 'read_only: false'],
    ['projector has no place in memory for its data', 'compose.yaml', '- /run/coffer:', '- /run/data:'],
    [
      'projector is killed before its ten seconds',
      'compose.yaml',
      'stop_grace_period: 15s',
      'stop_grace_period: 10s',
    ],
    ['the image postgres:latest has no version', 'compose.yaml', 'postgres:18.4', 'postgres:latest'],
    ['the image postgres has no version', 'compose.yaml', 'image: postgres:18.4', 'image: postgres'],
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
    ['the image runs as root', 'Dockerfile', 'USER node', ''],
    ['api is built from infra/Containerfile', 'compose.yaml', 'infra/Dockerfile', 'infra/Containerfile'],
    ['eventstore1 expects 5 nodes of 3', 'compose.yaml', "CLUSTER_SIZE: '3'", "CLUSTER_SIZE: '5'"],
    [
      'eventstore1 looks for eventstore2:2113',
      'compose.yaml',
      'eventstore2:2113,eventstore3:2113\n',
      'eventstore2:2113\n',
    ],
    [
      'eventstore2 tells others that it is eventstore1',
      'compose.yaml',
      'ADVERTISE_AS: eventstore2',
      'ADVERTISE_AS: eventstore1',
    ],
    ['eventstore2 has no volume for its data', 'compose.yaml', '- eventstore2:/', '- eventstore1:/'],
    [
      'certificates are made for eventstore1, node2',
      'compose.yaml',
      '[eventstore1, eventstore2,',
      '[eventstore1, node2,',
    ],
    ['certificates.sh does not put the name', 'certificates.sh', '"$node,localhost"', 'localhost'],
    [
      'eventstore3 does not have its own certificate',
      'compose.yaml',
      'certificate-eventstore3:/certificates/own',
      'certificate-eventstore1:/certificates/own',
    ],
    [
      'the certificate of eventstore3 is not kept',
      'compose.yaml',
      '      - certificate-eventstore3:/certificates/eventstore3\n',
      '',
    ],
    [
      'eventstore1 trusts another authority',
      'compose.yaml',
      'CERTIFICATES_PATH: /certificates/ca',
      'CERTIFICATES_PATH: /etc/ssl',
    ],
    [
      'eventstore1 does not wait for its certificate',
      'compose.yaml',
      'service_completed_successfully',
      'service_started',
    ],
    [
      'api does not know the authority',
      'compose.yaml',
      '- certificate-ca:/certificates/ca:ro\n  read',
      '- certificate-ca:/ca:ro\n  read',
    ],
    [
      'postgres is given the key of the authority',
      'compose.yaml',
      '- postgres:/var/lib/postgresql',
      '- postgres:/var/lib/postgresql\n      - certificate-authority:/authority',
    ],
    ['api has another DATABASE_URL', 'compose.yaml', '@postgres:5432/coffer', '@postgres:5433/coffer'],
    ['api does not reach postgres', 'compose.yaml', '[log, database, front]', '[log, front]'],
    ['api does not reach eventstore1', 'compose.yaml', '[log, database, front]', '[database, front]'],
    ['api looks for the log at eventstore1:2113,', 'compose.yaml', 'eventstore3:2113?', 'eventstore4:2113?'],
    [
      'api does not check who the log is',
      'compose.yaml',
      '?tls=true&tlsCAFile=',
      '?tls=true&tlsVerifyCert=false&tlsCAFile=',
    ],
    [
      'log-user has another password than eventstore1',
      'compose.yaml',
      'admin:${EVENTSTORE_ADMIN_PASSWORD',
      'admin:${EVENTSTORE_OPS_PASSWORD',
    ],
    ['api is an administrator of the log', 'compose.yaml', 'esdb://coffer:', 'esdb://admin:'],
    ['0 containers make the user of the log', 'compose.yaml', '[log, grant]', '[run, grant]'],
    ['log-user does not make the user of the log', 'compose.yaml', '[log, grant]', '[log, check]'],
    ['log-user does not end', 'compose.yaml', 'restart: on-failure', 'restart: unless-stopped'],
    [
      'log-user is given COFFER_MASTER_KEYS',
      'compose.yaml',
      '      EVENTSTORE_ADMIN_URL:',
      '      COFFER_MASTER_KEYS: none\n      EVENTSTORE_ADMIN_URL:',
    ],
    [
      'log-user makes the user on another server',
      'compose.yaml',
      'EVENTSTORE_ADMIN_PASSWORD:?see infra/.env.example}@eventstore1:2113,',
      'EVENTSTORE_ADMIN_PASSWORD:?see infra/.env.example}@',
    ],
    [
      'log-user is given EVENTSTORE_PASSWORT',
      'compose.yaml',
      '      EVENTSTORE_URL: *eventstore-url',
      '      EVENTSTORE_PASSWORT: *eventstore-url',
    ],
    [
      'api is another user of the log than log-user makes',
      'compose.yaml',
      '      EVENTSTORE_URL: *eventstore-url',
      '      EVENTSTORE_URL: esdb://other:secret@eventstore1:2113?tls=true',
    ],
    [
      'api does not wait for its user of the log',
      'compose.yaml',
      '    log-user: { condition: service_completed_successfully }\n',
      '',
    ],
    [
      'log-user does not reach eventstore1',
      'compose.yaml',
      'networks: [log]\n\n  # Apps',
      'networks: [database]\n\n  # Apps',
    ],
    ['the health check of eventstore1 asks elsewhere', 'compose.yaml', 'localhost:2113/', 'localhost:2114/'],
    ['api listens on 8081; published is 8080, 8080', 'compose.yaml', "PORT: '8080'", "PORT: '8081'"],
    ['api listens on 8080; published is 8080, 80', 'Dockerfile', 'EXPOSE 8080', 'EXPOSE 80'],
    ['the health check of api does not ask /readyz', 'compose.yaml', '8080/readyz', '8080/ready'],
    ['api listens on no address that others can reach', 'compose.yaml', 'HOST: 0.0.0.0', 'HOST: 127.0.0.1'],
    ['api is open to other machines', 'compose.yaml', 'host_ip: 127.0.0.1', 'host_ip: 0.0.0.0'],
  ];

  for (const [finding, ...spoiling] of spoilings) {
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
