/** The landing of transactions, each on the chain of its environment. */
import type { MonotonicClock } from '@coffer/consumers';
import type { Environment } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';
import { createFlights, type Flight, type Flights, type Landing } from './flights.ts';
import type { Journey, MoveHooks } from './journey.ts';
import type { MovePolicy } from './policy.ts';
import { untilAborted } from './waiting.ts';

export class NoChainError extends Error {
  override readonly name = 'NoChainError';
}

export type Landings = ReturnType<typeof createLandings>;

export function createLandings({
  chainOf,
  clock,
  policy,
  hooks,
}: {
  /** Undefined if none is configured. */
  readonly chainOf: (environment: Environment) => Chain | undefined;
  readonly clock: MonotonicClock;
  readonly policy: MovePolicy;
  readonly hooks: Pick<MoveHooks, 'onTrouble' | 'onNoChain'>;
}) {
  const flightsOf = new Map<Chain, Flights>();
  const withoutChain = new Set<Environment>();

  return {
    /** Throws `NoChainError`, and reports it the first time. */
    chainFor({ environment }: Journey): Chain {
      const chain = chainOf(environment);
      if (chain) return chain;
      if (!withoutChain.has(environment)) {
        withoutChain.add(environment);
        hooks.onNoChain(environment);
      }
      throw new NoChainError(`No chain is configured for ${environment}.`);
    },

    /** Resolves once nothing can change it any longer. `onAccepted`: a node accepted the bytes for the first time. */
    async of(
      { environment, signal }: Journey,
      chain: Chain,
      flight: Flight,
      onAccepted?: () => Promise<void>,
    ): Promise<Landing> {
      const { accepted, landed, leave } = flightsFor(chain, environment).watch(flight);
      try {
        if (onAccepted) {
          const first = await untilAborted(signal, Promise.race([accepted, landed]));
          if (first === 'accepted') await onAccepted();
        }
        return await untilAborted(signal, landed);
      } finally {
        leave();
      }
    },
  };

  function flightsFor(chain: Chain, environment: Environment): Flights {
    const known = flightsOf.get(chain);
    if (known) return known;
    const onTrouble = (error: unknown) => hooks.onTrouble({ environment, moveId: undefined, error });
    const flights = createFlights({ chain, clock, policy, onTrouble });
    flightsOf.set(chain, flights);
    return flights;
  }
}
