/** The chains of the two environments, as far as the installation has them. */
import type { Environment } from '@coffer/kernel';
import { chainNotConfigured } from './errors.ts';
import type { Chain } from './port.ts';
import { decodeMint, mintProblem } from './programs/mint.ts';
import { createRpcChain } from './web3/rpcChain.ts';

/** For one call to one node. */
const TIMEOUT_MS = 5_000;

export interface Chains {
  /** Undefined if there is none. */
  readonly find: (environment: Environment) => Chain | undefined;
  /** Throws `chain/not_configured`. */
  readonly of: (environment: Environment) => Chain;
}

/** The parts of a currency that such a chain needs. */
interface MintedCurrency {
  readonly decimals: number;
  readonly mint: { readonly test: string | null };
}

/** A chain of the test environment that the installation runs itself. */
export interface OwnTestChain {
  readonly url: string;
  /** Makes sure that the address can pay fees. */
  readonly fundFeePayer: (address: string) => Promise<void>;
  /** Creates a mint unless there is one. */
  readonly ensureMint: (mint: { readonly address: string; readonly decimals: number }) => Promise<void>;
}

export interface OpenChains extends Chains {
  /**
   * On the installation's own chain, fee payers are funded automatically; elsewhere the operator funds them.
   */
  readonly fundFeePayer: (environment: Environment, address: string) => Promise<void>;
  /** The installation's own chain has a mint for every currency of the test environment; elsewhere the issuer creates it. */
  readonly ensureMint: (currency: MintedCurrency) => Promise<void>;
  /**
   * Says why the mint cannot belong to a currency with this number of decimals. Undefined if there is no
   * chain to ask. May throw a `ChainUnreachableError`.
   */
  readonly mintCheck: (
    environment: Environment,
  ) => ((mint: string, decimals: number) => Promise<string | undefined>) | undefined;
  readonly close: () => Promise<void>;
}

export const noChains: OpenChains = chainsOf({});

/** Chains at these addresses; in the test environment the installation's own instead, if it runs one. */
export function openChains(
  { test, live }: Readonly<Record<Environment, readonly string[] | undefined>>,
  own?: OwnTestChain,
): OpenChains {
  const open = (urls: readonly string[] | undefined) =>
    urls && createRpcChain({ urls, timeoutMs: TIMEOUT_MS });
  return chainsOf({ test: open(own ? [own.url] : test), live: open(live) }, own);
}

function chainsOf(
  chains: Readonly<Partial<Record<Environment, Chain | undefined>>>,
  own?: OwnTestChain,
): OpenChains {
  return {
    find: (environment) => chains[environment],
    of(environment) {
      const chain = chains[environment];
      if (!chain) throw chainNotConfigured(environment);
      return chain;
    },
    async fundFeePayer(environment, address) {
      if (environment === 'test') await own?.fundFeePayer(address);
    },
    async ensureMint({ decimals, mint: { test: address } }) {
      if (address !== null && address !== 'native') await own?.ensureMint({ address, decimals });
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
