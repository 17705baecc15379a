/** The embedded chain in this process, for specs of the whole service: its slots go by themselves, and fast. */
import { createEmbeddedChain } from '@coffer/embedded-chain';
import { callRpc } from '@coffer/embedded-chain/testing';
import { eventually } from '@coffer/testing';
import { type Chains, openChains } from '../chains.ts';

/** Not faster: the nodes of the port are asked over HTTP, and a blockhash must live long enough for that. */
const SLOT_MS = 40;
const FEE_PAYER_LAMPORTS = 10_000_000_000n;

export interface QuickChain {
  /** Of the RPC. */
  readonly url: string;
  readonly chains: Chains;
  /** Lamports, confirmed when it returns. */
  readonly fund: (address: string, lamports: bigint) => Promise<void>;
  readonly lamportsOf: (address: string) => Promise<bigint>;
  readonly stop: () => Promise<void>;
}

export async function startQuickChain(): Promise<QuickChain> {
  const chain = await createEmbeddedChain({ slotMs: SLOT_MS });
  const { url, ensureMint } = chain;

  const lamportsOf = async (address: string): Promise<bigint> => {
    const answer = await callRpc(url, 'getBalance', [address, { commitment: 'confirmed' }]);
    if (typeof answer === 'object' && answer !== null && 'value' in answer)
      return BigInt(String(answer.value));
    throw new Error('The chain answers no balance.');
  };
  const fund = async (address: string, lamports: bigint) => {
    const before = await lamportsOf(address);
    await callRpc(url, 'requestAirdrop', [address, lamports]);
    await eventually(
      'the airdrop is confirmed',
      async () => (await lamportsOf(address)) > before || undefined,
    );
  };
  const chains = openChains(
    { test: undefined, live: undefined },
    {
      url,
      ensureMint,
      async fundFeePayer(address) {
        if ((await lamportsOf(address)) === 0n) await fund(address, FEE_PAYER_LAMPORTS);
      },
      stop: chain.stop,
    },
  );
  return {
    url,
    chains,
    fund,
    lamportsOf,
    async stop() {
      await chains.close();
      await chain.stop();
    },
  };
}
