/** Kafka in the compose file: its nodes know each other, and the relay knows them. */
import type { ComposeFile, ComposeService } from './composeFile.ts';
import { KAFKA_SETTINGS } from './serverSettings.ts';

const RELAY = 'kafka-relay';
const CLIENT_PORT = 9092;
const CONTROLLER_PORT = 9093;

export const isKafkaNode = ({ environment }: ComposeService): boolean =>
  environment.KAFKA_PROCESS_ROLES !== undefined;

/** Everything that is wrong, one sentence each. */
export function* kafkaFindings({ services }: ComposeFile): Iterable<string> {
  const nodes = Object.entries(services).filter(([, service]) => isKafkaNode(service));
  const ids = nodes.map(([, { environment }]) => environment.KAFKA_NODE_ID);
  const voters = nodes.map(([name], index) => `${ids[index]}@${name}:${CONTROLLER_PORT}`).join(',');
  if (nodes.length !== 3) yield `Kafka has ${nodes.length} nodes instead of three`;
  if (new Set(ids).size !== ids.length) yield 'two nodes of Kafka have the same id';
  for (const [name, { environment, volumes }] of nodes) {
    for (const setting of Object.keys(environment))
      if (!KAFKA_SETTINGS.includes(setting))
        yield `${name} sets ${setting}, which is not known to be a setting of Kafka`;
    const { KAFKA_CONTROLLER_QUORUM_VOTERS: known, KAFKA_ADVERTISED_LISTENERS: own } = environment;
    if (known !== voters) yield `${name} votes with ${known}, not with ${voters}`;
    if (own !== `CLIENTS://${name}:${CLIENT_PORT}`) yield `${name} tells others that it is at ${own}`;
    if (!volumes.includes(`${name}:${environment.KAFKA_LOG_DIRS}`))
      yield `${name} has no volume for its data`;
    if (
      JSON.stringify([
        environment.KAFKA_DEFAULT_REPLICATION_FACTOR,
        environment.KAFKA_MIN_INSYNC_REPLICAS,
      ]) !== '["3","2"]'
    )
      yield `${name} does not keep each message on two of three nodes`;
  }
  yield* relayFindings(services[RELAY], nodes);
}

function* relayFindings(
  relay: ComposeService | undefined,
  nodes: readonly (readonly [string, ComposeService])[],
): Iterable<string> {
  if (!relay) return;
  const [, user, password, hosts] =
    /^kafka:\/\/([^:]+):([^@]+)@(.+)$/.exec(relay.environment.KAFKA_BROKERS ?? '') ?? [];
  const places = nodes.map(([name]) => `${name}:${CLIENT_PORT}`).join(',');
  if (hosts !== places) yield `${RELAY} looks for Kafka at ${hosts}, not at ${places}`;
  for (const [name, { environment, networks, profiles }] of nodes) {
    const users = environment.KAFKA_LISTENER_NAME_CLIENTS_PLAIN_SASL_JAAS_CONFIG ?? '';
    if (!users.includes(` user_${user}="${password}"`)) yield `${name} does not know the user of ${RELAY}`;
    if (!networks.some((network) => relay.networks.includes(network)))
      yield `${RELAY} does not reach ${name}`;
    if (String(profiles) !== String(relay.profiles)) yield `${name} is not started together with ${RELAY}`;
  }
}
