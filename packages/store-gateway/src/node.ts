/** What clients ask of a node before they use it. */

import { randomUUID } from 'node:crypto';
import gossip, { type ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import features, { type SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import { wireId } from './wire.ts';

/** The server whose behaviour this is: the first that tells subscribers when they have caught up. */
const SERVER_VERSION = '23.10.0';

const BATCH_APPEND = 'batchappend';

const METHODS: readonly (readonly [service: string, method: string, features: readonly string[]])[] = [
  ['event_store.client.streams.streams', 'read', ['position', 'events']],
  ['event_store.client.streams.streams', 'append', []],
  ['event_store.client.streams.streams', BATCH_APPEND, []],
  ['event_store.client.gossip.gossip', 'read', []],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods', []],
];

/** Clients must not use batches if writing is not allowed: the protocol of batches cannot express that refusal. */
export function supportedMethods({ allowWrites }: { readonly allowWrites: boolean }): SupportedMethods {
  const served = METHODS.filter(([, method]) => allowWrites || method !== BATCH_APPEND);
  const methods = served.map(([service, method, names]) =>
    new features.SupportedMethod()
      .setServiceName(service)
      .setMethodName(method)
      .setFeaturesList([...names]),
  );
  return new features.SupportedMethods().setEventStoreServerVersion(SERVER_VERSION).setMethodsList(methods);
}

const instanceId = randomUUID();

/** One node, the leader, at the address by which the caller reached it. */
export function clusterOf(
  authority: string,
  bound: { readonly host: string; readonly port: number },
): ClusterInfo {
  const { host, port } = endpointOf(authority) ?? bound;
  const member = new gossip.MemberInfo()
    .setInstanceId(wireId(instanceId))
    .setTimeStamp(`${Date.now()}`)
    .setState(gossip.MemberInfo.VNodeState.LEADER)
    .setIsAlive(true)
    .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port));
  return new gossip.ClusterInfo().setMembersList([member]);
}

function endpointOf(authority: string) {
  const [, host, port] = /^(.+):(\d+)$/.exec(authority) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}
