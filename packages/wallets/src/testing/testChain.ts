/** A chain in this process, and how contexts reach it, for specs. */
import type { EmbeddedChainOptions } from '@coffer/embedded-chain/testing';
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import { type Chain, createRpcChain, type OpenChains, openChains } from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { Keypair } from '@solana/web3.js';

/** A currency of the app, whose tokens the faucet of the chain gives away. */
export const GEM = { id: 3, code: 'GEM', decimals: 6, mint: newAddress() } as const;
export const LAMPORTS_PER_SOL = 1_000_000_000n;
const FEES_LAMPORTS = 10n * LAMPORTS_PER_SOL;

/** Not known to anybody in this installation. */
export function newAddress(): string {
  return Keypair.generate().publicKey.toBase58();
}

export interface TestChain {
  readonly node: ChainWorld;
  readonly rpc: Chain;
  readonly chains: OpenChains;
  /** Final when it returns. The address may hold more afterwards, if it did before. */
  readonly fund: (address: string, lamports: bigint) => Promise<void>;
  readonly lamportsOf: (address: string) => Promise<bigint>;
  readonly stopChain: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Its slots pass when the spec says so, unless they have a length. */
export async function startTestChain(options: EmbeddedChainOptions = {}): Promise<TestChain> {
  const node = await startChainWorld(options);
  const { url, ensureMint } = node;
  const rpc = createRpcChain({ urls: [url], timeoutMs: 10_000 });
  const isByHand = typeof options.slotMs !== 'number';

  const held = async (address: string, commitment: 'confirmed' | 'finalized') =>
    (await rpc.accounts([address], commitment))[0]?.lamports ?? 0n;
  async function fund(address: string, lamports: bigint): Promise<void> {
    if ((await held(address, 'finalized')) >= lamports) return;
    await node.call('requestAirdrop', [address, lamports]);
    if (isByHand) node.finalize();
    await eventually(
      `${address} has lamports`,
      async () => (await held(address, 'finalized')) >= lamports || undefined,
    );
  }
  let isThere = true;
  async function stopChain(): Promise<void> {
    if (!isThere) return;
    isThere = false;
    await node.stop();
  }

  const chains = openChains(
    { test: undefined, live: undefined },
    {
      url,
      ensureMint,
      async fundFeePayer(address) {
        if ((await held(address, 'confirmed')) < FEES_LAMPORTS / 2n) await fund(address, FEES_LAMPORTS);
      },
    },
  );
  return {
    node,
    rpc,
    chains,
    fund,
    lamportsOf: (address) => held(address, 'confirmed'),
    stopChain,
    async stop() {
      await chains.close();
      await rpc.close();
      await stopChain();
    },
  };
}
