/**
 * The chain port: what the service asks of a Solana cluster, and nothing that only one client library knows. Amounts
 * are bigint base units (lamports for the native currency), addresses and signatures base58, transactions wire bytes.
 *
 * Every call may throw a `ChainUnreachableError`: no node gave an answer that can be relied on, and nothing follows
 * from that.
 */

/** A public key, in base58. */
export type Address = string;
/** The first signature of a transaction, in base58: its id. */
export type Signature = string;

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** No node answered, or none gave an answer that can be relied on. What was asked for may or may not have happened. */
export class ChainUnreachableError extends Error {
  override readonly name = 'ChainUnreachableError';
}

/**
 * A node holds the transaction, in a form that is newer than this code. Nothing that we have signed is: whoever looks
 * for a transaction of ours may pass over it.
 */
export class TransactionUnreadableError extends Error {
  override readonly name = 'TransactionUnreadableError';
}

export interface RecentBlockhash {
  readonly blockhash: string;
  /** A transaction with this blockhash can be in no block above this height. */
  readonly lastValidBlockHeight: bigint;
}

/** Whether a node took the bytes. Neither says what became of the transaction: only its status does. */
export type SendOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'refused'; readonly reason: string };

export interface TransactionStatus {
  readonly slot: bigint;
  readonly commitment: Commitment;
  /** Why it failed, as the cluster says it; null where it succeeded. A failed one has paid its fee and nothing else. */
  readonly error: string | null;
}

export interface ChainAccount {
  readonly address: Address;
  /** The program that owns it. */
  readonly owner: Address;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly isExecutable: boolean;
}

/** A token account of either token program, decoded. */
export interface TokenAccount {
  readonly address: Address;
  readonly program: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly isFrozen: boolean;
  readonly delegate: Address | null;
  readonly closeAuthority: Address | null;
}

/** What would happen, as of now. */
export interface Simulation {
  /** Null where it would succeed. */
  readonly error: string | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** After it, in the order asked for; undefined where there would be none. Empty where it would fail. */
  readonly accounts: readonly (ChainAccount | undefined)[];
}

/** A transaction that a node holds, newest first in lists. */
export interface KnownTransaction {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly error: string | null;
  readonly memo: string | null;
}

/** A transaction as it was executed. */
export interface ExecutedTransaction {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly error: string | null;
  /** Those that signed it; the first paid the fee. */
  readonly signers: readonly Address[];
  readonly feeLamports: bigint;
  /** All accounts of it, those from lookup tables as well, with their lamports before and after. */
  readonly lamports: readonly {
    readonly address: Address;
    readonly before: bigint;
    readonly after: bigint;
  }[];
  /** By token account; 0 where it was not there. */
  readonly tokens: readonly {
    readonly account: Address;
    readonly owner: Address;
    readonly mint: Address;
    readonly before: bigint;
    readonly after: bigint;
  }[];
}

/**
 * `notKept`: no node can tell. One knows it as final and holds it no more, or their histories begin after the slot.
 * `notFinal`: nodes have not come so far. `unknown`: a node whose history has the slot does not know it.
 */
export type Absence = 'notKept' | 'notFinal' | 'unknown';

export interface KeptHistory {
  /** The first slot whose block is kept, by the node that goes back furthest. */
  readonly from: bigint;
  /** When that block was made; null where the node does not say. */
  readonly fromAt: Date | null;
  /** The newest finalized slot that all of them have reached. */
  readonly to: bigint;
}

export interface Chain {
  /** For a transaction about to be signed: at commitment `confirmed`. */
  readonly latestBlockhash: () => Promise<RecentBlockhash>;
  /** Sends the bytes once, without preflight and without retries of the node's own. Safe to repeat. */
  readonly send: (transaction: Uint8Array) => Promise<SendOutcome>;
  /**
   * In the order asked for, found in the whole history; undefined where the node that answered knows nothing of it,
   * which proves nothing: see `isLost`.
   */
  readonly statuses: (
    signatures: readonly Signature[],
  ) => Promise<readonly (TransactionStatus | undefined)[]>;
  /**
   * True only where no block can ever hold the transaction any more: the finalized block height is above its last
   * valid one, and no node that is at least that far, asked after that, finds it in its history, which reaches back to
   * before it could have landed. Every node must say so: while one is silent this throws. Time plays no part.
   */
  readonly isLost: (signature: Signature, lastValidBlockHeight: bigint) => Promise<boolean>;
  readonly simulate: (transaction: Uint8Array, accounts: readonly Address[]) => Promise<Simulation>;
  /** In the order asked for; undefined where there is none. At most 100. */
  readonly accounts: (
    addresses: readonly Address[],
    commitment: Commitment,
  ) => Promise<readonly (ChainAccount | undefined)[]>;
  /** Of both token programs. */
  readonly tokenAccountsOf: (owner: Address, commitment: Commitment) => Promise<readonly TokenAccount[]>;
  /** Lamports that an account of so many bytes must hold. */
  readonly rentMinimum: (bytes: number) => Promise<bigint>;
  /** Micro-lamports per compute unit that lately got transactions writing these accounts into blocks: the median. */
  readonly recentPriorityFee: (writable: readonly Address[]) => Promise<bigint>;
  /** Those that name the address, the newest first, at commitment `confirmed` at least; of every node that answers. */
  readonly transactionsOf: (
    address: Address,
    page: { readonly limit: number; readonly before?: Signature; readonly until?: Signature },
  ) => Promise<readonly KnownTransaction[]>;
  /** Finalized; undefined where no node that answered knows it. May throw a `TransactionUnreadableError`. */
  readonly transaction: (signature: Signature) => Promise<ExecutedTransaction | undefined>;
  /** Why `transaction` finds none, of one that is said to be in that slot. */
  readonly absence: (signature: Signature, slot: bigint) => Promise<Absence>;
  /** What the nodes that answer hold of the past. */
  readonly history: () => Promise<KeptHistory>;
  readonly close: () => Promise<void>;
}
