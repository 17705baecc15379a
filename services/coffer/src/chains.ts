/** The chains of the two environments, as far as this installation has them. */
import type { Environment } from '@coffer/kernel';
import { type Chain, chainNotConfigured, createRpcChain } from '@coffer/solana';
import type { Config } from './config.ts';

/** For one question to one node. */
const TIMEOUT_MS = 5_000;

export interface Chains {
  /** Undefined where there is none. */
  readonly find: (environment: Environment) => Chain | undefined;
  /** Throws `chain/not_configured`. */
  readonly of: (environment: Environment) => Chain;
  readonly close: () => Promise<void>;
}

export const noChains: Chains = chainsOf({});

/** Those that the configuration names; the embedded one, where it runs, is named like any other. */
export function openChains(rpcUrls: Config['chain']['rpcUrls']): Chains {
  const open = (urls: readonly string[] | undefined) =>
    urls && createRpcChain({ urls, timeoutMs: TIMEOUT_MS });
  return chainsOf({ test: open(rpcUrls.test), live: open(rpcUrls.live) });
}

function chainsOf(chains: Readonly<Partial<Record<Environment, Chain | undefined>>>): Chains {
  return {
    find: (environment) => chains[environment],
    of(environment) {
      const chain = chains[environment];
      if (!chain) throw chainNotConfigured(environment);
      return chain;
    },
    async close() {
      await Promise.all(Object.values(chains).map((chain) => chain?.close()));
    },
  };
}
