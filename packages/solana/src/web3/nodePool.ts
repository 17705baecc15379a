/** Treats several nodes as one: which node is asked, and which rests for a while after a failure. */
import { messageOf } from '@coffer/kernel';
import { ChainUnreachableError } from '../port.ts';
import { NodeRefusalError, NodeSilentError, type RpcNode } from './rpcNode.ts';
import { web3 } from './web3.ts';

/** Codes by which a node says that it is behind the cluster, or otherwise unhealthy. */
export const NODE_UNHEALTHY = -32005;

export interface NodePoolOptions {
  /** How long a failed node is asked only if no other answers. */
  readonly restMs: number;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

type Ask<T> = (node: RpcNode) => Promise<T>;

type Said<T> = { readonly node: RpcNode; readonly answer: T };
export type Failed = { readonly node: RpcNode; readonly error: unknown };

/** None of the nodes asked gave a reliable answer. */
export class NodesFailedError extends ChainUnreachableError {
  readonly failed: readonly Failed[];

  constructor(failed: readonly Failed[]) {
    super(failed.map(({ node, error }) => `${node.name}: ${messageOf(error)}`).join(' '));
    this.failed = failed;
  }
}

export interface NodePool {
  /**
   * The first answer, asking the nodes in order, resting ones last. `isFinal` recognizes an error that is an answer: no
   * other node is asked after it.
   */
  readonly first: <T>(ask: Ask<T>, isFinal?: (error: unknown) => boolean) => Promise<T>;
  /** From all nodes at once, including resting ones. */
  readonly all: <T>(ask: Ask<T>) => Promise<{ said: readonly Said<T>[]; failed: readonly Failed[] }>;
  /** Like `all`, but returns as soon as one answers; the others are asked nonetheless. */
  readonly any: <T>(ask: Ask<T>) => Promise<Said<T>>;
}

export function nodePool(nodes: readonly RpcNode[], { restMs, nowMs }: NodePoolOptions): NodePool {
  const restUntil = new Map<RpcNode, number>();
  const isAtRest = (node: RpcNode) => (restUntil.get(node) ?? Number.NEGATIVE_INFINITY) > nowMs();

  async function ask<T>(node: RpcNode, question: Ask<T>): Promise<Said<T>> {
    try {
      const answer = await question(node);
      restUntil.delete(node);
      return { node, answer };
    } catch (error) {
      if (isNodesFault(error)) restUntil.set(node, nowMs() + restMs);
      throw error;
    }
  }

  return {
    async first(question, isFinal = () => false) {
      const failed: Failed[] = [];
      for (const node of [...nodes.filter((one) => !isAtRest(one)), ...nodes.filter(isAtRest)]) {
        try {
          return (await ask(node, question)).answer;
        } catch (error) {
          if (isFinal(error)) throw error;
          failed.push({ node, error });
        }
      }
      throw new NodesFailedError(failed);
    },
    async all(question) {
      const settled = await Promise.allSettled(nodes.map((node) => ask(node, question)));
      return {
        said: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
        failed: failuresOf(nodes, settled),
      };
    },
    async any(question) {
      const asked = nodes.map((node) => ask(node, question));
      try {
        return await Promise.any(asked);
      } catch {
        throw new NodesFailedError(failuresOf(nodes, await Promise.allSettled(asked)));
      }
    },
  };
}

const failuresOf = (
  nodes: readonly RpcNode[],
  settled: readonly PromiseSettledResult<unknown>[],
): readonly Failed[] =>
  nodes.flatMap((node, index) => {
    const one = settled[index];
    return one?.status === 'rejected' ? [{ node, error: one.reason }] : [];
  });

/** Rests a node that is silent or says that it is unhealthy. Another refusal may be the request's fault. */
function isNodesFault(error: unknown): boolean {
  return error instanceof NodeSilentError || refusalOf(error)?.code === NODE_UNHEALTHY;
}

/** What a node refused, whichever way it was asked. */
export function refusalOf(error: unknown): { readonly code: number; readonly message: string } | undefined {
  if (error instanceof NodeRefusalError) return error;
  const { SolanaJSONRPCError } = web3();
  if (error instanceof SolanaJSONRPCError) return { code: Number(error.code), message: error.message };
  return undefined;
}
