/** How much one signature may cost a wallet beyond what it sends. */
export interface SigningLimits {
  /** What it may offer to be in a block sooner. */
  readonly priorityFeeLamports: bigint;
  /** The rent that it may leave in others' accounts. */
  readonly rentOfOthersLamports: bigint;
}

/** A thousandth of a coin, and the rent of about five token accounts. */
export const DEFAULT_SIGNING_LIMITS: SigningLimits = {
  priorityFeeLamports: 1_000_000n,
  rentOfOthersLamports: 10_500_000n,
};
