/** For the specs: the adapter over two scripted nodes, with a stopped clock. Called in a `describe`. */
import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import type { Chain } from '../port.ts';
import { createRpcChain } from '../web3/rpcChain.ts';
import { type ScriptedNode, scriptedNode } from './scriptedNode.ts';

/** A whole number that a JavaScript number cannot hold: it would be read as ...992. */
export const ABOVE_2_53 = 9_007_199_254_740_993n;
export const REST_MS = 1_000;
export const address = (byte: number) => encodeBase58(Buffer.alloc(32, byte));
export const signature = (byte: number) => encodeBase58(Buffer.alloc(64, byte));

/** Created again before each spec. */
export interface ScriptedChain {
  chain: Chain;
  first: ScriptedNode;
  second: ScriptedNode;
  nowMs: number;
  readonly both: (method: string, answer: Parameters<ScriptedNode['on']>[1]) => void;
}

export function useScriptedChain(): ScriptedChain {
  const world = {
    nowMs: 0,
    both(method: string, answer: Parameters<ScriptedNode['on']>[1]) {
      for (const node of [world.first, world.second]) node.on(method, answer);
    },
  } as ScriptedChain;

  beforeEach(async () => {
    [world.first, world.second] = [await scriptedNode(), await scriptedNode()];
    world.nowMs = 0;
    world.chain = createRpcChain({
      urls: [world.first.url, world.second.url],
      timeoutMs: 5_000,
      restMs: REST_MS,
      maxAnswerBytes: 100_000,
      nowMs: () => world.nowMs,
    });
  });

  afterEach(async () => {
    await world.chain.close();
    expect([world.first.upgrades(), world.second.upgrades()]).to.deep.equal([0, 0]);
    await Promise.all([world.first.close(), world.second.close()]);
  });
  return world;
}
