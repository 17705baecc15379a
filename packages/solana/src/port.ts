/**
 * The chain port: what the service needs of a Solana cluster, independent of any client library. Amounts are bigint base
 * units (lamports for the native currency), addresses and signatures base58, transactions wire bytes.
 *
 * Every call may throw a `ChainUnreachableError`: no node gave a reliable answer, and nothing follows from that.
 */

/** A public key, in base58. */
export type Address = string;
/** The first signature of a transaction, in base58: its id. */
export type Signature = string;

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** No node gave a reliable answer. The requested action may or may not have happened. */
export class ChainUnreachableError extends Error {
  override readonly name = 'ChainUnreachableError';
}

/**
 * A node holds the transaction in a form newer than this code. Nothing that we have signed is: whoever looks for a
 * transaction of ours may skip it.
 */
export class TransactionUnreadableError extends Error {
  override readonly name = 'TransactionUnreadableError';
}

export interface RecentBlockhash {
  readonly blockhash: string;
  /** A transaction with this blockhash cannot be in a block above this height. */
  readonly lastValidBlockHeight: bigint;
}

/** Whether a node accepted the bytes. Either way, only the status tells what became of the transaction. */
export type SendOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'refused'; readonly reason: string };

export interface TransactionStatus {
  readonly slot: bigint;
  readonly commitment: Commitment;
  /** The cluster's reason for the failure; null on success. A failed transaction has paid its fee and nothing else. */
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

/** The result of executing it now. */
export interface Simulation {
  /** Null on success. */
  readonly error: string | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** The accounts afterwards, in the order requested; undefined if missing. Empty on failure. */
  readonly accounts: readonly (ChainAccount | undefined)[];
}

/** A transaction that a node holds, newest first in lists. */
export interface KnownTransaction {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly error: string | null;
  readonly memo: string | null;
}

export interface ExecutedTransaction {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly error: string | null;
  /** Its signers; the first paid the fee. */
  readonly signers: readonly Address[];
  readonly feeLamports: bigint;
  /** All its accounts, including those from lookup tables, with their lamports before and after. */
  readonly lamports: readonly {
    readonly address: Address;
    readonly before: bigint;
    readonly after: bigint;
  }[];
  /** By token account; 0 if it did not exist. */
  readonly tokens: readonly {
    readonly account: Address;
    readonly owner: Address;
    readonly mint: Address;
    readonly before: bigint;
    readonly after: bigint;
  }[];
}

/**
 * `notKept`: no node can tell. One knows it as final but no longer holds it, or their histories begin after the slot.
 * `notFinal`: the nodes have not got that far. `unknown`: a node whose history includes the slot does not know it.
 */
export type Absence = 'notKept' | 'notFinal' | 'unknown';

export interface KeptHistory {
  /** The first slot whose block is kept, on the node with the longest history. */
  readonly from: bigint;
  /** When that block was made; null if the node does not say. */
  readonly fromAt: Date | null;
  /** The newest finalized slot that all nodes have reached. */
  readonly to: bigint;
}

export interface Chain {
  /** For a transaction about to be signed: at commitment `confirmed`. */
  readonly latestBlockhash: () => Promise<RecentBlockhash>;
  /** Sends the bytes once, without preflight and without retries by the node. Safe to repeat. */
  readonly send: (transaction: Uint8Array) => Promise<SendOutcome>;
  /**
   * In the order requested, from the whole history; undefined if the node that answered does not know it, which proves
   * nothing: see `isLost`.
   */
  readonly statuses: (
    signatures: readonly Signature[],
  ) => Promise<readonly (TransactionStatus | undefined)[]>;
  /**
   * True only if no block can ever contain the transaction any longer: the finalized block height is above its last valid
   * one, and no node at that height, asked afterwards, finds it in a history that reaches back to before it could have
   * landed. All nodes must agree: while one is silent this throws. Time plays no part.
   */
  readonly isLost: (signature: Signature, lastValidBlockHeight: bigint) => Promise<boolean>;
  readonly simulate: (transaction: Uint8Array, accounts: readonly Address[]) => Promise<Simulation>;
  /** In the order requested; undefined if missing. At most 100. */
  readonly accounts: (
    addresses: readonly Address[],
    commitment: Commitment,
  ) => Promise<readonly (ChainAccount | undefined)[]>;
  /** Of both token programs. */
  readonly tokenAccountsOf: (owner: Address, commitment: Commitment) => Promise<readonly TokenAccount[]>;
  /** The lamports that an account of this size must hold. */
  readonly rentMinimum: (bytes: number) => Promise<bigint>;
  /** The median price, in micro-lamports per compute unit, of recent transactions writing these accounts. */
  readonly recentPriorityFee: (writable: readonly Address[]) => Promise<bigint>;
  /** Transactions that name the address, newest first, at commitment `confirmed` or better; from every node that answers. */
  readonly transactionsOf: (
    address: Address,
    page: { readonly limit: number; readonly before?: Signature; readonly until?: Signature },
  ) => Promise<readonly KnownTransaction[]>;
  /** Finalized; undefined if no node that answered knows it. May throw a `TransactionUnreadableError`. */
  readonly transaction: (signature: Signature) => Promise<ExecutedTransaction | undefined>;
  /** Why `transaction` does not find a transaction that is said to be in this slot. */
  readonly absence: (signature: Signature, slot: bigint) => Promise<Absence>;
  /** How much of the past the answering nodes hold. */
  readonly history: () => Promise<KeptHistory>;
  readonly close: () => Promise<void>;
}
