/**
 * What has to agree in `infra/`, within itself and with the code. Each check names everything that does not.
 */
import { posix } from 'node:path';
import { type ComposeFile, type ComposeService, interpolationsOf, parseCompose } from './composeFile.ts';
import type { CodeFacts, InstallationFiles } from './installation.ts';
import { isKafkaNode, kafkaFindings } from './kafkaChecks.ts';
import { SERVER_SETTINGS } from './serverSettings.ts';

/** Everything that is wrong, one sentence each. Throws if the compose file cannot be read at all. */
export function findingsOf(files: InstallationFiles, code: CodeFacts): readonly string[] {
  const compose = parseCompose(files['compose.yaml'], EXAMPLE_VALUES);
  const clusterNodes = Object.entries(compose.services).filter(
    ([, { environment }]) => environment.KURRENTDB_CLUSTER_SIZE !== undefined,
  );
  const ours = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);
  const parts: Parts = {
    files,
    code,
    compose,
    nodes: clusterNodes,
    roles: ours.filter(([, { command }]) => command?.[0] !== 'log'),
    setUps: ours.filter(([, { command }]) => command?.[0] === 'log'),
  };
  return [
    ...dangling(parts),
    ...variables(parts),
    ...examples(parts),
    ...roleContainers(parts),
    ...images(parts),
    ...dockerfile(parts),
    ...cluster(parts),
    ...certificates(parts),
    ...addresses(parts),
    ...logUser(parts),
    ...kafkaFindings(compose),
  ];
}

type Named = readonly (readonly [string, ComposeService])[];

interface Parts {
  readonly files: InstallationFiles;
  readonly code: CodeFacts;
  readonly compose: ComposeFile;
  readonly nodes: Named;
  readonly roles: Named;
  /** Our image, for one-off tasks. */
  readonly setUps: Named;
}

/** What an operator would fill in, in the form that `.env.example` requires. */
export const EXAMPLE_VALUES: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD: '0b'.repeat(32),
  EVENTSTORE_ADMIN_PASSWORD: '1c'.repeat(32),
  EVENTSTORE_OPS_PASSWORD: '2d'.repeat(32),
  EVENTSTORE_PASSWORD: '5f'.repeat(32),
  KAFKA_NODE_PASSWORD: '6a'.repeat(32),
  KAFKA_PASSWORD: '7b'.repeat(32),
  KAFKA_READER_PASSWORD: '8c'.repeat(32),
  COFFER_SECRETS_KEY: Buffer.alloc(32, 3).toString('base64'),
  COFFER_IDENTITY_KEY: Buffer.alloc(32, 4).toString('base64'),
  COFFER_MASTER_KEYS: `test:1:${Buffer.alloc(32, 5).toString('base64')},live:1:${Buffer.alloc(32, 6).toString('base64')}`,
  COFFER_OPERATOR_TOKEN: '4e'.repeat(32),
};

/** What a service makes once and keeps in its data folder unless it is given. */
const KEPT_IN_DATA_FOLDER = ['COFFER_SECRETS_KEY', 'COFFER_IDENTITY_KEY', 'COFFER_OPERATOR_TOKEN'];

/** They read balances, send, or compare the books with the chain. */
const ASK_A_CHAIN: readonly string[] = ['api', 'chain-worker', 'reconciler'];
/** Or send to endpoints of apps. */
const REACH_OUT = [...ASK_A_CHAIN, 'webhook-sender'];

const without = (all: readonly string[], some: readonly string[]) => all.filter((one) => !some.includes(one));
const sameMembers = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && without(some, others).length === 0;

/** Names that lead nowhere, and names that nobody uses. */
function* dangling({ compose, code }: Parts): Iterable<string> {
  const services = Object.entries(compose.services);
  const isPath = (source: string) => source.startsWith('.');
  const sources = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0] ?? ''));
  const volumes = Object.keys(compose.volumes);
  const networks = services.flatMap(([, { networks: own }]) => own);
  for (const name of without(
    sources.filter((source) => !isPath(source)),
    volumes,
  ))
    yield `the volume ${name} is not declared`;
  for (const name of without(volumes, sources)) yield `the volume ${name} is not used`;
  for (const name of without(networks, Object.keys(compose.networks)))
    yield `the network ${name} is not declared`;
  for (const name of without(Object.keys(compose.networks), networks))
    yield `the network ${name} is not used`;
  for (const path of sources.filter(isPath)) {
    if (!code.exists(posix.join('infra', path))) yield `${path} is mounted but does not exist`;
  }
  for (const [name, { depends_on }] of services) {
    for (const [other, { condition }] of Object.entries(depends_on)) {
      const depended = compose.services[other];
      if (!depended) yield `${name} depends on ${other}, which is not a service`;
      else if (condition === 'service_healthy' && !depended.healthcheck)
        yield `${name} waits for the health of ${other}, which has no health check`;
    }
  }
}

/** A setting that nobody reads is a misspelt one. */
function* variables({ compose, code, nodes, roles, setUps }: Parts): Iterable<string> {
  for (const [name, { environment }] of roles) {
    for (const variable of without(Object.keys(environment), code.variables))
      yield `${name} sets ${variable}, which the configuration does not know`;
    try {
      code.checkEnvironment(environment);
    } catch (error) {
      yield `${name} would not start: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  for (const [name, { environment }] of nodes) {
    for (const setting of without(Object.keys(environment), SERVER_SETTINGS))
      yield `${name} sets ${setting}, which is not known to be a setting of the server`;
  }
  for (const [name, service] of Object.entries(compose.services)) {
    const { environment } = service;
    if (isKafkaNode(service)) continue;
    const isOurs = [...nodes, ...roles, ...setUps].some(([known]) => known === name);
    const others = without(Object.keys(environment), ['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD']);
    if (!isOurs) for (const variable of others) yield `${name} sets ${variable}, which nobody reads`;
  }
}

/** `.env.example` is everything one has to know before the first start, and contains no secret. */
function* examples({ files }: Parts): Iterable<string> {
  const lines = files['.env.example'].split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const examples = new Map(
    lines.map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  const taken = interpolationsOf(files['compose.yaml']);
  const names = [...new Set(taken.map(({ name }) => name))];
  if (lines.length !== examples.size) yield '.env.example names a variable twice';
  for (const name of without(names, [...examples.keys()])) yield `.env.example does not name ${name}`;
  for (const name of without([...examples.keys()], names))
    yield `.env.example names ${name}, which compose.yaml does not take`;
  for (const { name, otherwise } of taken) {
    const example = examples.get(name);
    if (example === undefined) continue;
    if (example !== (otherwise ?? ''))
      yield `.env.example gives ${name} as "${example}", compose.yaml takes "${otherwise ?? ''}"`;
    const isSecret = /PASSWORD|KEY|TOKEN/.test(name);
    if (isSecret && otherwise !== undefined) yield `the secret ${name} has a value without being set`;
  }
}

/** Every role runs in its own container, which is given only what it needs. */
function* roleContainers({ compose, roles, code }: Parts): Iterable<string> {
  const run: string[] = [];
  for (const [name, service] of roles) {
    const [verb, ...named] = service.command ?? [];
    if (verb !== 'run' || named.length !== 1) yield `${name} does not run one role`;
    for (const role of without(named, code.roles)) yield `${name} runs ${role}, which is not a role`;
    run.push(...named);
    const given = Object.keys(service.environment);
    for (const variable of without(KEPT_IN_DATA_FOLDER, given))
      yield `${name} makes its own ${variable} at each start`;
    const hasMasterKeys = given.includes('COFFER_MASTER_KEYS');
    if (hasMasterKeys !== code.needsMasterKeys(named))
      yield `${name} ${hasMasterKeys ? 'is given' : 'lacks'} the master keys`;
    const addresses = ['SOLANA_TEST_RPC_URL', 'SOLANA_LIVE_RPC_URL'].filter((one) => given.includes(one));
    if (addresses.length !== (named.some((role) => ASK_A_CHAIN.includes(role)) ? 2 : 0))
      yield `${name} is given ${addresses.length} chains`;
    const reachesOut = service.networks.some((network) => compose.networks[network]?.internal !== true);
    if (reachesOut !== named.some((role) => REACH_OUT.includes(role)))
      yield `${name} ${reachesOut ? 'reaches' : 'does not reach'} the outside`;
    if (service.read_only !== true) yield `${name} can write to its file system`;
    const folder = service.environment.COFFER_DATA_DIR;
    if (!service.tmpfs?.some((mount) => mount.split(':')[0] === folder))
      yield `${name} has no place in memory for its data folder ${folder}`;
    if (Number.parseInt(service.stop_grace_period ?? '10', 10) <= 10)
      yield `${name} is killed before its ten seconds are over`;
  }
  for (const role of without(code.roles, run)) yield `no container runs the role ${role}`;
  if (new Set(run).size !== run.length) yield 'two containers run the same role';
}

/** A tag that moves means another program tomorrow. */
function* images({ compose, files, roles, setUps }: Parts): Iterable<string> {
  const ours = [...roles, ...setUps].map(([, { image }]) => image);
  const bases = [...files.Dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
  const used = [...Object.values(compose.services).map(({ image }) => image), ...bases];
  for (const image of new Set(used)) {
    if (!/:v?\d+\.\d+(\.\d+)?(-[\w.]+)?$/.test(image)) yield `the image ${image} has no version`;
  }
  if (new Set(ours).size > 1) yield 'the roles have different images';
}

/** The image is built from existing files, and does not run as root. */
function* dockerfile({ files, code, roles }: Parts): Iterable<string> {
  const instructions = files.Dockerfile.replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/));
  const ofKind = (kind: string) => instructions.filter(([word]) => word === kind).map(([, ...rest]) => rest);

  const admitted = files['Dockerfile.dockerignore']
    .split('\n')
    .flatMap((line) => /^!(.+)$/.exec(line)?.[1] ?? []);
  const copied = ofKind('COPY').flatMap((words) => words.slice(0, -1));
  for (const source of copied) {
    if (!code.exists(source)) yield `the Dockerfile copies ${source}, which does not exist`;
  }
  if (!sameMembers(copied, admitted))
    yield `the Dockerfile copies ${copied.join(', ')}; .dockerignore admits ${admitted.join(', ')}`;

  const [command, ...words]: readonly string[] = JSON.parse(ofKind('ENTRYPOINT')[0]?.join(' ') ?? '[]');
  const program = words.find((word) => !word.startsWith('--'));
  if (command !== 'node') yield 'the entry point is not node';
  const flags = words.filter((word) => word.startsWith('--'));
  if (flags.join(' ') !== code.startFlags.join(' '))
    yield `the entry point has the flags ${flags.join(' ')}; npm start has ${code.startFlags.join(' ')}`;
  if (!program || !code.exists(program)) yield `the entry point ${program} does not exist`;
  else if (!copied.some((source) => program.startsWith(`${source}/`)))
    yield `the entry point ${program} is not copied`;
  if ((ofKind('USER').at(-1)?.[0] ?? 'root') === 'root') yield 'the image runs as root';
  if (ofKind('FROM')[0]?.[0] !== `node:${code.nodeVersion}-slim`)
    yield `the image is not of Node ${code.nodeVersion}, which package.json pins`;
  for (const [name, { build }] of roles) {
    const path = build && posix.join(posix.join('infra', build.context), build.dockerfile);
    if (path !== 'infra/Dockerfile') yield `${name} is built from ${path}`;
  }
}

/** Nodes that know each other, under the names by which they are reached. */
function* cluster({ nodes }: Parts): Iterable<string> {
  const names = nodes.map(([name]) => name);
  if (names.length < 3 || names.length % 2 === 0)
    yield `${names.length} nodes cannot form a cluster with a majority`;
  for (const [name, { environment, volumes }] of nodes) {
    const { KURRENTDB_NODE_PORT: port, KURRENTDB_GOSSIP_SEED: seed = '' } = environment;
    if (environment.KURRENTDB_CLUSTER_SIZE !== String(names.length))
      yield `${name} expects ${environment.KURRENTDB_CLUSTER_SIZE} nodes of ${names.length}`;
    const others = without(names, [name]).map((other) => `${other}:${port}`);
    if (!sameMembers(seed.split(','), others)) yield `${name} looks for ${seed}, not for ${others.join(',')}`;
    for (const setting of ['KURRENTDB_NODE_HOST_ADVERTISE_AS', 'KURRENTDB_REPLICATION_HOST_ADVERTISE_AS']) {
      if (environment[setting] !== name) yield `${name} tells others that it is ${environment[setting]}`;
    }
    if (!volumes.includes(`${name}:/var/lib/kurrentdb`)) yield `${name} has no volume for its data`;
  }
}

/** Each node has the certificate with its name, and only the generator has the authority's key. */
function* certificates({ compose, files, nodes, roles }: Parts): Iterable<string> {
  const generator = compose.services.certificates;
  if (!generator) {
    yield 'nobody makes certificates';
    return;
  }
  const names = nodes.map(([name]) => name);
  if (!sameMembers(generator.command ?? [], names))
    yield `certificates are made for ${generator.command?.join(', ')}; the nodes are ${names.join(', ')}`;
  // In the script: the name it is given, and the one that the health check uses.
  if (!files['certificates.sh'].includes('-dns-names "$node,localhost"'))
    yield 'certificates.sh does not put the name of the node into its certificate';
  for (const [name, { environment, volumes, depends_on }] of nodes) {
    if (!generator.volumes.includes(`certificate-${name}:/certificates/${name}`))
      yield `the certificate of ${name} is not kept`;
    if (!volumes.includes(`certificate-${name}:/certificates/own:ro`))
      yield `${name} does not have its own certificate`;
    if (volumes.filter((volume) => volume.startsWith('certificate-')).length !== 2)
      yield `${name} is given more certificates than its own and that of the authority`;
    if (environment.KURRENTDB_CERTIFICATE_FILE !== '/certificates/own/node.crt')
      yield `${name} takes its certificate from another place`;
    if (environment.KURRENTDB_CERTIFICATE_PRIVATE_KEY_FILE !== '/certificates/own/node.key')
      yield `${name} takes its key from another place`;
    if (environment.KURRENTDB_TRUSTED_ROOT_CERTIFICATES_PATH !== '/certificates/ca')
      yield `${name} trusts another authority`;
    if (depends_on.certificates?.condition !== 'service_completed_successfully')
      yield `${name} does not wait for its certificate`;
  }
  for (const [name, { volumes }] of [...nodes, ...roles]) {
    if (!volumes.includes('certificate-ca:/certificates/ca:ro')) yield `${name} does not know the authority`;
  }
  for (const [name, { volumes }] of Object.entries(compose.services)) {
    const hasAuthority = volumes.some((volume) => volume.startsWith('certificate-authority:'));
    if (hasAuthority && name !== 'certificates') yield `${name} is given the key of the authority`;
  }
}

const LOG_ADDRESS = /^esdb:\/\/([^:]+):([^@]+)@([^/?]+)\?(.+)$/;

/** One container creates the user of all roles, as the administrator, which no role is. */
function* logUser({ nodes, roles, setUps }: Parts): Iterable<string> {
  const [setUp] = setUps;
  if (!setUp || setUps.length > 1) {
    yield `${setUps.length} containers make the user of the log`;
    return;
  }
  const [name, { command, environment, networks, restart }] = setUp;
  if (command?.join(' ') !== 'log grant') yield `${name} does not make the user of the log`;
  // It would be started again for ever after it is done.
  if (restart !== 'on-failure') yield `${name} does not end`;
  for (const variable of without(Object.keys(environment), ['EVENTSTORE_URL', 'EVENTSTORE_ADMIN_URL']))
    yield `${name} is given ${variable}, which it does not need`;
  const [, administrator, secret, hosts, settings] =
    LOG_ADDRESS.exec(environment.EVENTSTORE_ADMIN_URL ?? '') ?? [];
  const [, , , ownHosts, ownSettings] = LOG_ADDRESS.exec(environment.EVENTSTORE_URL ?? '') ?? [];
  if (hosts !== ownHosts || settings !== ownSettings) yield `${name} makes the user on another server`;
  for (const [node, service] of nodes) {
    if (administrator !== 'admin' || service.environment.KURRENTDB_DEFAULT_ADMIN_PASSWORD !== secret)
      yield `${name} has another password than ${node}`;
    if (!service.networks.some((network) => networks.includes(network)))
      yield `${name} does not reach ${node}`;
  }
  for (const [role, service] of roles) {
    if (service.environment.EVENTSTORE_URL !== environment.EVENTSTORE_URL)
      yield `${role} is another user of the log than ${name} makes`;
    if (service.depends_on[name]?.condition !== 'service_completed_successfully')
      yield `${role} does not wait for its user of the log`;
  }
}

/** What is called exists, at that port, in a shared network, and with that password. */
function* addresses({ compose, files, nodes, roles }: Parts): Iterable<string> {
  const { postgres } = compose.services;
  for (const [name, { environment, networks }] of roles) {
    const database = new URL(environment.DATABASE_URL ?? 'postgres://nowhere');
    const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: db } = postgres?.environment ?? {};
    if (database.href !== `postgres://${user}:${password}@postgres:5432/${db}`)
      yield `${name} has another DATABASE_URL than postgres is set up for`;
    if (!postgres?.networks.some((network) => networks.includes(network)))
      yield `${name} does not reach postgres`;

    const [, userOfLog, , hosts = '', settings] = LOG_ADDRESS.exec(environment.EVENTSTORE_URL ?? '') ?? [];
    const places = nodes.map(([node, service]) => `${node}:${service.environment.KURRENTDB_NODE_PORT}`);
    if (!sameMembers(hosts.split(','), places))
      yield `${name} looks for the log at ${hosts}, not at ${places}`;
    if (settings !== 'tls=true&tlsCAFile=/certificates/ca/ca.crt')
      yield `${name} does not check who the log is`;
    if (userOfLog === 'admin') yield `${name} is an administrator of the log`;
    for (const [node, service] of nodes) {
      if (!service.networks.some((network) => networks.includes(network)))
        yield `${name} does not reach ${node}`;
    }
  }
  for (const [name, { healthcheck, environment }] of nodes) {
    const test = healthcheck?.test.join(' ') ?? '';
    if (!test.includes(`https://localhost:${environment.KURRENTDB_NODE_PORT}/`))
      yield `the health check of ${name} asks elsewhere`;
  }
  const { api } = compose.services;
  const port = api?.environment.PORT;
  const exposed = /^EXPOSE (\d+)$/m.exec(files.Dockerfile)?.[1];
  const inside = [...(api?.ports ?? []).map(({ target }) => String(target)), exposed];
  if (inside.some((target) => target !== port))
    yield `api listens on ${port}; published is ${inside.join(', ')}`;
  if (!api?.healthcheck?.test.some((word) => word.includes(`http://127.0.0.1:${port}/readyz`)))
    yield 'the health check of api does not ask /readyz';
  if (api?.environment.HOST !== '0.0.0.0') yield 'api listens on no address that others can reach';
  for (const [name, { ports }] of Object.entries(compose.services)) {
    if (ports.some(({ host_ip }) => host_ip !== '127.0.0.1')) yield `${name} is open to other machines`;
    if (name !== 'api' && ports.length > 0) yield `${name} is open to this machine`;
  }
}
