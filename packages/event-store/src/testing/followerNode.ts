/** A node of a cluster that does not lead: it refuses what only the leader may answer, and names the leader. */
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';

export interface FollowerNode {
  readonly port: number;
  /** The number of calls it has refused. */
  refusals(): number;
  stop(): void;
}

export interface FollowerNodeOptions {
  /** Where this node believes the leader is. */
  readonly leaderPort: () => number;
  /** The state it reports of itself to clients that look for a leader. */
  readonly claimsToLead?: boolean;
  /** The ports of all nodes, for clients that look for a leader. */
  readonly otherPorts?: () => readonly number[];
}

interface Call {
  readonly metadata: Metadata;
  emit(event: 'error', error: Error): boolean;
}

export async function startFollowerNode(options: FollowerNodeOptions): Promise<FollowerNode> {
  const server = new Server();
  let refused = 0;
  const notLeader = ({ metadata }: Call): Error => {
    refused += 1;
    const trailers = new Metadata();
    if (metadata.get('requires-leader')[0] === 'true') {
      trailers.set('exception', 'not-leader');
      trailers.set('leader-endpoint-host', '127.0.0.1');
      trailers.set('leader-endpoint-port', `${options.leaderPort()}`);
    }
    const details = 'Leader info available';
    return Object.assign(new Error(details), { code: status.NOT_FOUND, details, metadata: trailers });
  };
  const streaming = (call: Call) => call.emit('error', notLeader(call));
  const replying = (call: Call, reply: (error: Error) => void) => reply(notLeader(call));
  server.addService(streamsService.StreamsService, {
    read: streaming,
    append: replying,
    batchAppend: streaming,
    delete: replying,
    tombstone: replying,
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.addService(gossipService.GossipService, {
      read: (_call: unknown, reply: (error: null, info: gossip.ClusterInfo) => void) => {
        const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState;
        const member = (at: number, leads: boolean) =>
          new gossip.MemberInfo()
            .setInstanceId(new shared.UUID().setString('00000000-0000-4000-8000-000000000000'))
            .setState(leads ? LEADER : FOLLOWER)
            .setIsAlive(true)
            .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(at));
        const members = options.otherPorts
          ? options.otherPorts().map((at) => member(at, at === options.leaderPort()))
          : [member(port, options.claimsToLead ?? false)];
        reply(null, new gossip.ClusterInfo().setMembersList(members));
      },
    });
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
  return { port, refusals: () => refused, stop: () => server.forceShutdown() };
}
