/** The chains of the two environments, as far as this installation has them. */

import { defineContext } from '@coffer/host';
import type { Environment } from '@coffer/kernel';
import {
  type Chain,
  ChainUnreachableError,
  chainErrors,
  chainNotConfigured,
  createRpcChain,
  decodeMint,
  mintProblem,
  type Chains as SolanaChains,
} from '@coffer/solana';
import type { Config } from './config.ts';
import type { EmbeddedTestChain } from './embeddedChain.ts';

/** For one question to one node. */
const TIMEOUT_MS = 5_000;

/** A currency as far as the embedded chain needs to know it. */
interface MintedCurrency {
  readonly decimals: number;
  readonly mint: { readonly test: string | null };
}

/** What the failures of chains are to a caller; the chains themselves are given by the installation. */
export const chainContext = defineContext({
  name: 'chain',
  errors: chainErrors,
  errorOf: (error) => (error instanceof ChainUnreachableError ? { code: 'chain/unreachable' } : undefined),
});

export interface Chains extends SolanaChains {
  /** On the embedded chain whoever pays fees is given what it takes; elsewhere the operator sends it. */
  readonly fundFeePayer: (environment: Environment, address: string) => Promise<void>;
  /** The embedded chain has a mint for every currency of the test environment; elsewhere the issuer makes it. */
  readonly ensureMint: (currency: MintedCurrency) => Promise<void>;
  /**
   * Asks why the mint cannot be that of a currency of so many decimals. Undefined where there is no chain to ask. May
   * throw a `ChainUnreachableError`.
   */
  readonly mintCheck: (
    environment: Environment,
  ) => ((mint: string, decimals: number) => Promise<string | undefined>) | undefined;
  readonly close: () => Promise<void>;
}

export const noChains: Chains = chainsOf({});

/** Those that the configuration names, and the embedded one where it runs. */
export function openChains({ test, live }: Config['chain']['rpcUrls'], embedded?: EmbeddedTestChain): Chains {
  const open = (urls: readonly string[] | undefined) =>
    urls && createRpcChain({ urls, timeoutMs: TIMEOUT_MS });
  return chainsOf({ test: open(embedded ? [embedded.url] : test), live: open(live) }, embedded);
}

function chainsOf(
  chains: Readonly<Partial<Record<Environment, Chain | undefined>>>,
  embedded?: EmbeddedTestChain,
): Chains {
  return {
    find: (environment) => chains[environment],
    of(environment) {
      const chain = chains[environment];
      if (!chain) throw chainNotConfigured(environment);
      return chain;
    },
    async fundFeePayer(environment, address) {
      if (environment === 'test') await embedded?.fundFeePayer(address);
    },
    async ensureMint({ decimals, mint: { test: address } }) {
      if (address !== null && address !== 'native') await embedded?.ensureMint({ address, decimals });
    },
    mintCheck(environment) {
      const chain = chains[environment];
      if (!chain) return undefined;
      return async (mint, decimals) => {
        const [account] = await chain.accounts([mint], 'confirmed');
        return mintProblem(account && decodeMint(account), decimals);
      };
    },
    async close() {
      await Promise.all(Object.values(chains).map((chain) => chain?.close()));
    },
  };
}
