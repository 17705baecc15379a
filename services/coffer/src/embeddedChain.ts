/**
 * The chain of a trial installation: a separate process next to the service, restarted when it ends by itself.
 * What the embedded chain offers beyond a cluster, SOL for fee payers and mints of currencies, is requested over its
 * RPC, as anybody may do.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChainProcess, startEmbeddedChain } from '@coffer/embedded-chain';
import type { Logger } from '@coffer/http';
import { createCoalescingCache } from '@coffer/kernel';
import { createRpcChain, type OpenChains, type OwnTestChain, openChains } from '@coffer/solana';
import type { Config } from './config.ts';

/** Between two starts of a chain that ended by itself. */
const RESTART_DELAY_MS = 1_000;
const ASK_WITHIN_MS = 5_000;
/** How often a fee payer is checked, however many moves it pays for. */
const LOOK_AGAIN_MS = 10_000;
const MOST_FEE_PAYERS = 1_000;
/** Below the first, a fee payer is given the second: enough for hundreds of thousands of transfers. */
const FEE_PAYER_MINIMUM_LAMPORTS = 1_000_000_000n;
const FEE_PAYER_GIFT_LAMPORTS = 10_000_000_000n;

export interface EmbeddedTestChain {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

export interface OwnTestChainAddress {
  readonly url: string;
  readonly slotMs: number;
}

export async function startEmbeddedTestChain(
  { dataFolder }: Pick<Config, 'dataFolder'>,
  { port, slotMs }: NonNullable<Config['chain']['embedded']>,
  logger: Logger,
  /** After this it is not restarted. */
  serviceStopping: AbortSignal,
): Promise<EmbeddedTestChain> {
  const folder = join(dataFolder, 'chain');
  const stopping = new AbortController();
  const { signal } = stopping;
  const leftEnded = AbortSignal.any([signal, serviceStopping]);
  let running: ChainProcess = await startEmbeddedChain({ folder, port, slotMs });
  const { url } = running;
  // Holders of the address find the restarted chain there.
  const samePort = Number(new URL(url).port);
  const supervised = supervise();

  return {
    url,
    async stop() {
      stopping.abort();
      await running.stop();
      await supervised;
    },
  };

  async function supervise(): Promise<void> {
    for (;;) {
      const { code, signal: killedBy, output } = await running.exited;
      // A supervisor that ends all processes at once ends the service as well.
      await delay(RESTART_DELAY_MS, undefined, { signal: leftEnded }).catch(() => undefined);
      if (leftEnded.aborted) return;
      logger.error({ code, signal: killedBy, output }, 'the embedded chain has ended; it is started again');
      await startAgain();
      if (leftEnded.aborted) return;
    }
  }

  async function startAgain(): Promise<void> {
    while (!leftEnded.aborted) {
      try {
        running = await startEmbeddedChain({ folder, port: samePort, slotMs });
        if (leftEnded.aborted) await running.stop();
        return;
      } catch (error) {
        logger.error({ err: error }, 'the embedded chain does not start');
        await delay(RESTART_DELAY_MS, undefined, { signal: leftEnded }).catch(() => undefined);
      }
    }
  }
}

/** The chains of the installation, one of which may be its own. */
export function openChainsOf(
  { rpcUrls }: Pick<Config['chain'], 'rpcUrls'>,
  own: OwnTestChainAddress | undefined,
): OpenChains {
  if (!own) return openChains(rpcUrls);
  const client = connectToTestChain(own);
  const chains = openChains(rpcUrls, client);
  return {
    ...chains,
    async close() {
      await chains.close();
      await client.close();
    },
  };
}

function connectToTestChain({
  url,
  slotMs,
}: OwnTestChainAddress): OwnTestChain & { readonly close: () => Promise<void> } {
  const closing = new AbortController();
  const rpc = createRpcChain({ urls: [url], timeoutMs: ASK_WITHIN_MS });
  const funded = createCoalescingCache({
    load: fund,
    lifetimeMs: LOOK_AGAIN_MS,
    maximumEntries: MOST_FEE_PAYERS,
    nowMs: () => performance.now(),
  });
  return {
    url,
    async fundFeePayer(address) {
      await funded.get(address);
    },
    async ensureMint({ address, decimals }) {
      await ask(url, 'ensureMint', [address, decimals]);
    },
    async close() {
      closing.abort();
      await rpc.close();
    },
  };

  /** Concurrent callers with the same fee payer wait for the first one's request. */
  async function fund(address: string): Promise<void> {
    if ((await balanceOf(address)) >= FEE_PAYER_MINIMUM_LAMPORTS) return;
    await ask(url, 'requestAirdrop', [address, Number(FEE_PAYER_GIFT_LAMPORTS)]);
    while ((await balanceOf(address)) === 0n) {
      await delay(slotMs, undefined, { signal: closing.signal });
    }
  }

  /** The same commitment that moves are prepared at. */
  async function balanceOf(address: string): Promise<bigint> {
    const [account] = await rpc.accounts([address], 'confirmed');
    return account?.lamports ?? 0n;
  }
}

async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(ASK_WITHIN_MS),
  });
  const answer: unknown = await response.json();
  if (typeof answer === 'object' && answer !== null && 'result' in answer) return answer.result;
  throw new Error(`The embedded chain refuses ${method}: ${JSON.stringify(answer)}`);
}
