/** How moves are carried out. What costs money is bounded here. */
export interface MovePolicy {
  /** The most that one transaction offers beyond the fee of its signatures. */
  readonly priorityFeeCapLamports: bigint;
  /** Compute units that one transaction may use. A transfer with a new token account takes about 50,000. */
  readonly unitLimit: number;
  /** The most that is paid for one recipient's token account. */
  readonly rentAllowanceLamports: bigint;
  /** The same bytes are sent again so often, until a block holds them. */
  readonly resendIntervalMs: number;
  /** One question for all moves in flight of a chain, so often. */
  readonly pollIntervalMs: number;
  /** A transaction that no node knows is asked for so often: is it lost? */
  readonly lossCheckIntervalMs: number;
  /** A move fails for good when so many attempts have expired. */
  readonly mostAttempts: number;
  /** A move fails for good when, with nothing signed, the same reason against it was met so often in a row. */
  readonly refusalsToFail: number;
  /** A blockhash that was asked for serves what is signed within so long after it. */
  readonly blockhashLifetimeMs: number;
  /** Moves that are looked at, built and simulated at a time. Those in flight are not bounded by it. */
  readonly parallelPreparations: number;
  /** After passing trouble: doubling from the first to the most. */
  readonly firstRetryMs: number;
  readonly mostRetryMs: number;
}

export const DEFAULT_POLICY: MovePolicy = {
  priorityFeeCapLamports: 100_000n,
  unitLimit: 100_000,
  rentAllowanceLamports: 3_000_000n,
  resendIntervalMs: 1_000,
  pollIntervalMs: 500,
  lossCheckIntervalMs: 5_000,
  mostAttempts: 10,
  refusalsToFail: 3,
  blockhashLifetimeMs: 200,
  parallelPreparations: 32,
  firstRetryMs: 500,
  mostRetryMs: 30_000,
};
