/**
 * Finds the leader: one search serves all callers, and a new one starts when a node is gone or silent. While no leader
 * is known, callers fail at once and one search continues for all of them.
 *
 * The client's own search is not used: each caller would search separately, one node after the other.
 */
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { StoreAbsentError, StoreUnreachableError } from '../errors.ts';
import { pause } from '../pause.ts';
import { type Address, type Node, nameOf } from './address.ts';
import { explained } from './failures.ts';
import { guarded } from './guardedClient.ts';

export interface Cluster {
  /** The leader. Throws `StoreAbsentError`, at once if the search has found none so far. */
  leader(): Promise<Node>;
  /** A node said that another one leads. */
  told(leader: Node): void;
  /** The node does not answer: all nodes are asked, unless another one is known to lead. */
  doubt(node: Node): void;
  /** Called when the leader changes or is lost. */
  onMoved(listener: (leader: Node | undefined) => void): void;
  close(): Promise<void>;
}

/** A node that does not answer within this time does not count. */
const ANSWER_WITHIN_MS = 1_000;
/** Pauses between rounds of a search that finds no leader. */
const PAUSES_MS = [50, 100, 200, 400, 1_000];
/** A leader just found is not doubted again for this long, however many callers fail. */
const TRUSTED_FOR_MS = 200;

type GossipRead = (
  argument: shared.Empty,
  options: { readonly deadline: number },
  reply: (error: Error | null, answer: gossip.ClusterInfo) => void,
) => { cancel(): void };

const { LEADER } = gossip.MemberInfo.VNodeState;

export function createCluster(address: Address): Cluster {
  const closing = new AbortController();
  const listeners: ((leader: Node | undefined) => void)[] = [];
  /** In addition to those in the connection string. */
  let members: readonly Node[] = [];
  // A single node is trusted until it fails, whatever state it reports.
  let leader: Node | undefined = address.isOneNode ? address.seeds[0] : undefined;
  let previous = leader;
  let foundAtMs = Number.NEGATIVE_INFINITY;
  let searching: Promise<void> | undefined;
  let doubted: Node | undefined;
  /** The first round of the current search; the result of it and of later rounds. */
  let firstRound = Promise.withResolvers<void>();
  let absence: StoreAbsentError | undefined;

  function found(node: Node): void {
    leader = node;
    foundAtMs = performance.now();
    absence = undefined;
    firstRound.resolve();
    const isAnother = previous !== undefined && nameOf(previous) !== nameOf(node);
    previous = node;
    if (isAnother) moved(node);
  }

  function moved(to: Node | undefined): void {
    for (const listener of listeners) listener(to);
  }

  function search(): void {
    leader = undefined;
    firstRound = Promise.withResolvers<void>();
    searching ??= rounds().finally(() => {
      searching = undefined;
    });
  }

  async function rounds(): Promise<void> {
    for (let failures = 0; leader === undefined && !closing.signal.aborted; failures++) {
      const outcome = await round();
      // A leader may have been reported meanwhile.
      if (leader !== undefined) return;
      if ('leader' in outcome) return found(outcome.leader);
      absence = new StoreAbsentError(outcome.reason);
      if (failures === 0) moved(undefined);
      firstRound.resolve();
      await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] ?? 0, closing.signal);
    }
  }

  /** Asks all nodes at once. A node named as leader counts once it confirms, since others may be out of date. */
  async function round(): Promise<{ readonly leader: Node } | { readonly reason: string }> {
    const answers = new Map<string, Promise<readonly gossip.MemberInfo[]>>();
    const ask = (node: Node) => {
      const answer = answers.get(nameOf(node)) ?? membersAt(node);
      answers.set(nameOf(node), answer);
      return answer;
    };
    const first = Promise.withResolvers<{ readonly leader: Node }>();
    const reasons = new Set<string>();
    let lastResort: Node | undefined;
    const asked = new Map([...address.seeds, ...members].map((node) => [nameOf(node), node])).values();
    const all = [...asked].map(async (node) => {
      try {
        const told = await ask(node);
        const named = address.isOneNode && told.length <= 1 ? node : leaderAmong(told);
        if (!named) {
          reasons.add(`${nameOf(node)} knows of no leader`);
          return;
        }
        if (told.length > 1) members = told.map(nodeOf).filter((member) => member !== undefined);
        await ask(named);
        // The node that was just silent is the last resort.
        if (doubted && nameOf(named) === nameOf(doubted)) lastResort = named;
        else first.resolve({ leader: named });
      } catch (error) {
        reasons.add(`${nameOf(node)}: ${explained(error)}`);
      }
    });
    const none = Promise.all(all).then(() =>
      lastResort ? { leader: lastResort } : { reason: `No node leads (${[...reasons].join('; ')}).` },
    );
    return Promise.race([first.promise, none]);
  }

  /** The cluster as a node sees it, over a separate connection. */
  async function membersAt(node: Node): Promise<readonly gossip.MemberInfo[]> {
    const { stubOf, end } = guarded(address.of(node));
    try {
      const stub = await stubOf(gossipService.GossipClient, 'gossip');
      const info = await new Promise<gossip.ClusterInfo>((resolve, reject) => {
        const deadline = Date.now() + ANSWER_WITHIN_MS;
        // The library also accepts options in place of metadata, which the generated types omit.
        const read = stub.read.bind(stub) as unknown as GossipRead;
        const call = read(new shared.Empty(), { deadline }, (error, answer) => {
          closing.signal.removeEventListener('abort', cancel);
          if (error) reject(error);
          else resolve(answer);
        });
        const cancel = () => call.cancel();
        closing.signal.addEventListener('abort', cancel);
        if (closing.signal.aborted) cancel();
      });
      return info.getMembersList();
    } finally {
      await end();
    }
  }

  return {
    async leader() {
      if (closing.signal.aborted) throw new StoreUnreachableError('The store is closed.');
      if (leader) return leader;
      if (!searching) search();
      if (!absence) await firstRound.promise;
      if (leader) return leader;
      throw absence ?? new StoreUnreachableError('The store is closed.');
    },
    told(node) {
      // A node that names the doubted one is out of date.
      if (!leader && doubted && nameOf(doubted) === nameOf(node)) return;
      found(node);
    },
    doubt(node) {
      if (!leader || nameOf(leader) !== nameOf(node)) return;
      if (performance.now() - foundAtMs < TRUSTED_FOR_MS) return;
      doubted = node;
      search();
    },
    onMoved: (listener) => void listeners.push(listener),
    async close() {
      closing.abort();
      firstRound.resolve();
      await searching;
    },
  };
}

function leaderAmong(members: readonly gossip.MemberInfo[]): Node | undefined {
  const leading = members.find((member) => member.getState() === LEADER && member.getIsAlive());
  return leading && nodeOf(leading);
}

function nodeOf(member: gossip.MemberInfo): Node | undefined {
  const endpoint = member.getHttpEndPoint();
  return endpoint && { address: endpoint.getAddress(), port: endpoint.getPort() };
}
