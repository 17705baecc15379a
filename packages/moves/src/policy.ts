/** How moves are carried out. Everything that costs money has its limit here. */
export interface MovePolicy {
  /** The highest priority fee of one transaction, beyond the fee for its signatures. */
  readonly priorityFeeCapLamports: bigint;
  /** Compute units that one transaction may use. A transfer with a new token account takes about 50,000. */
  readonly unitLimit: number;
  /** The most paid for one recipient's token account. */
  readonly rentAllowanceLamports: bigint;
  /** How often the same bytes are resent until a block contains them. */
  readonly resendIntervalMs: number;
  /** How often all moves in flight of a chain are polled together. */
  readonly pollIntervalMs: number;
  /** How often to check whether a transaction that no node knows is lost. */
  readonly lossCheckIntervalMs: number;
  /** A move fails for good after this many expired attempts. */
  readonly mostAttempts: number;
  /** A move fails for good when, with nothing signed, the same reason against it was met this often in a row. */
  readonly refusalsToFail: number;
  /** How long a fetched blockhash is used for signing. */
  readonly blockhashLifetimeMs: number;
  /** Calls of an environment at a time that look for what names its moves. */
  readonly parallelSearches: number;
  /** Moves of an environment prepared (checked, built, simulated) at a time. Does not limit those in flight. */
  readonly parallelPreparations: number;
  /** Pause after temporary trouble, doubling from the first to the most. */
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
  parallelSearches: 32,
  parallelPreparations: 32,
  firstRetryMs: 500,
  mostRetryMs: 30_000,
};
