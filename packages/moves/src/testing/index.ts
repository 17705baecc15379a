/** A chain, a clock and a world of moves for specs, also for those of the services. */
export * from './memoryRentSponsor.ts';
export * from './moveWorld.ts';
export * from './simulatedChain.ts';
export * from './simulatedClock.ts';
