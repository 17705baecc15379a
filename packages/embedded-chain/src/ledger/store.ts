/**
 * What the chain stores, in one SQLite file: accounts as they are now, how they were before each transaction that is
 * not final, and every transaction. Writes are grouped: they become durable together, and `durable` says when.
 */
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../tokens.ts';
import type { AccountState } from '../vm.ts';
import type { TimeMark } from './blockTimes.ts';

export interface StoredTransaction {
  readonly sequence: number;
  readonly signature: string;
  readonly slot: bigint;
  readonly blockTimeSeconds: number;
  /** JSON of the error; null if it succeeded. */
  readonly error: string | null;
  readonly memo: string | null;
}

export interface TransactionRecord extends StoredTransaction {
  readonly wire: Uint8Array;
  /** JSON, as answered by `getTransaction`. */
  readonly meta: string;
}

/** An account before and after a transaction; undefined if it did not exist. */
export interface AccountChange {
  readonly address: string;
  readonly before: AccountState | undefined;
  readonly after: AccountState | undefined;
}

export interface Mark {
  readonly slot: bigint;
  readonly atMs: number;
}

export interface SignaturePage {
  readonly limit: number;
  readonly before?: number | undefined;
  readonly until?: number | undefined;
  readonly uptoSlot: bigint;
}

export type Store = ReturnType<typeof openStore>;

/** A process that is ending may still hold the file. */
const OWNER_LIMIT_MS = 10_000;

/** The version of the file's format. */
const FORMAT = 1;

/** Token accounts, whose bytes have the same layout in both token programs. */
const OF_TOKEN_PROGRAMS = `owner in ('${TOKEN_PROGRAM}', '${TOKEN_2022_PROGRAM}')`;
const MINT = 'substr(data, 1, 32)';
const DELEGATE = 'substr(data, 77, 32)';
const IS_DELEGATED = `${OF_TOKEN_PROGRAMS} and substr(data, 73, 4) = x'01000000'`;

const SCHEMA = `
create table if not exists identity (one integer primary key check (one = 1), format integer not null,
  genesis blob not null, faucet blob not null) strict;
create table if not exists mark (one integer primary key check (one = 1), slot integer not null,
  at_ms integer not null) strict;
create table if not exists accounts (address text primary key, lamports text not null, owner text not null,
  executable integer not null, data blob not null) strict, without rowid;
create index if not exists accounts_by_owner on accounts (owner);
create index if not exists accounts_by_mint on accounts (${MINT}) where ${OF_TOKEN_PROGRAMS};
create index if not exists accounts_by_delegate on accounts (${DELEGATE}) where ${IS_DELEGATED};
create table if not exists undo (sequence integer not null, slot integer not null, address text not null,
  lamports text, owner text, executable integer, data blob, primary key (address, sequence)) strict, without rowid;
create index if not exists undo_by_slot on undo (slot);
create table if not exists transactions (sequence integer primary key, signature text not null unique,
  slot integer not null, block_time integer not null, error text, memo text, wire blob not null,
  meta text not null) strict;
create index if not exists transactions_by_slot on transactions (slot);
create table if not exists named (address text not null, sequence integer not null,
  primary key (address, sequence)) strict, without rowid;
create table if not exists token_accounts (owner text not null, address text not null,
  primary key (owner, address)) strict, without rowid;
create table if not exists times (slot integer primary key, at_ms integer not null,
  slot_ms integer not null) strict;
create table if not exists forks (number integer primary key, first_slot integer not null,
  last_slot integer not null) strict;
`;

/**
 * `path` is a file, or `:memory:` for what nobody keeps. `onBroken` is called once when nothing can be stored any more.
 */
export function openStore(path: string, onBroken: (error: unknown) => void, ownerLimitMs = OWNER_LIMIT_MS) {
  const database = ownedDatabase(path, ownerLimitMs);
  const sql = statementsOf(database);
  const group = commitGroupOf(database, onBroken);

  return {
    identity(): { genesis: Uint8Array; faucet: Uint8Array } | undefined {
      const row = sql.identity.get();
      if (row && row.format !== FORMAT)
        throw new Error(`the chain is kept in the unknown format ${row.format}`);
      return row && { genesis: blob(row.genesis), faucet: blob(row.faucet) };
    },
    keepIdentity: (genesis: Uint8Array, faucet: Uint8Array) =>
      group.write(() => sql.keepIdentity.run(FORMAT, genesis, faucet)),

    mark(): Mark | undefined {
      const row = sql.mark.get();
      return row && { slot: BigInt(int(row.slot)), atMs: int(row.at_ms) };
    },
    keepMark: (mark: Mark) => group.write(() => sql.keepMark.run(mark.slot, mark.atMs)),

    timeMarks: (): readonly TimeMark[] =>
      sql.timeMarks.all().map((row) => ({
        slot: BigInt(int(row.slot)),
        atMs: int(row.at_ms),
        slotMs: int(row.slot_ms),
      })),
    keepTimeMark: ({ slot, atMs, slotMs }: TimeMark) =>
      group.write(() => sql.keepTimeMark.run(slot, atMs, slotMs)),

    *accounts(): Generator<readonly [string, AccountState]> {
      yield* accountRows(sql.accounts.iterate());
    },
    accountsOf: (program: string) => accountRows(sql.accountsOf.iterate(program)),
    /** The mint itself may also be among them; its bytes begin with something else. */
    accountsOfMint: (mint: Uint8Array) => accountRows(sql.accountsOfMint.iterate(mint)),
    accountsOfDelegate: (delegate: Uint8Array) => accountRows(sql.accountsOfDelegate.iterate(delegate)),
    totalLamports: () => BigInt(text(sql.totalLamports.get()?.total)),
    /** Changes that are not final. */
    changedAfter: (slot: bigint) => sql.changedAfter.all(slot).map((row) => text(row.address)),
    /** Without undo: it was always like this. */
    keepAccount: (address: string, state: AccountState) =>
      group.write(() => writeAccount(sql, address, state)),

    /** With all accounts that it changed; `named` are all that it names. */
    keepTransaction: (
      record: Omit<TransactionRecord, 'sequence'>,
      named: readonly string[],
      changes: readonly AccountChange[],
    ) =>
      group.write(() => {
        const { lastInsertRowid } = sql.keepTransaction.run(
          ...[record.signature, record.slot, record.blockTimeSeconds, record.error, record.memo],
          record.wire,
          record.meta,
        );
        for (const address of new Set(named)) sql.keepNamed.run(address, lastInsertRowid);
        for (const { address, before, after } of changes) {
          const columns = before ? columnsOf(before) : [null, null, null, null];
          sql.keepUndo.run(lastInsertRowid, record.slot, address, ...columns);
          writeAccount(sql, address, after);
        }
      }),
    keepTokenAccount: (owner: string, address: string) =>
      group.write(() => sql.keepTokenAccount.run(owner, address)),
    tokenAccountsOf: (owner: string) => sql.tokenAccountsOf.all(owner).map((row) => text(row.address)),

    /** The account at the end of the slot, if a later one changed it. */
    accountBefore(address: string, slot: bigint): { state: AccountState | undefined } | undefined {
      const row = sql.accountBefore.get(address, slot);
      return row && { state: row.lamports === null ? undefined : accountOf(row) };
    },
    forgetUndo: (uptoSlot: bigint) => group.write(() => sql.forgetUndo.run(uptoSlot)),

    /**
     * Takes back the slots from `firstSlot` on. Returns the accounts that have changed, and the transactions that are
     * no longer in a block.
     */
    fork: (firstSlot: bigint, lastSlot: bigint) =>
      group.write(() => {
        const restored = new Map<string, AccountState | undefined>();
        for (const row of sql.undoFrom.all(firstSlot)) {
          restored.set(text(row.address), row.lamports === null ? undefined : accountOf(row));
        }
        for (const [address, state] of restored) writeAccount(sql, address, state);
        const dropped = sql.transactionsFrom.all(firstSlot).map((row) => blob(row.wire));
        sql.dropUndoFrom.run(firstSlot);
        sql.dropNamedFrom.run(firstSlot);
        sql.dropTransactionsFrom.run(firstSlot);
        sql.keepFork.run(firstSlot, lastSlot);
        return { restored, dropped };
      }),
    forks: () =>
      sql.forks.all().map((row) => ({
        firstSlot: BigInt(int(row.first_slot)),
        lastSlot: BigInt(int(row.last_slot)),
      })),

    transaction(signature: string): TransactionRecord | undefined {
      const row = sql.transaction.get(signature);
      return row && recordOf(row);
    },
    /** The number of the newest transaction in a block up to the slot. */
    newestSequence: (uptoSlot: bigint) => int(sql.newestSequence.get(uptoSlot)?.sequence),
    /** Oldest first. */
    transactionsAfter: (sequence: number, uptoSlot: bigint): readonly TransactionRecord[] =>
      sql.transactionsAfter.all(sequence, uptoSlot).map(recordOf),
    /** In the order in which they were executed. */
    transactionsIn: (slot: bigint): readonly TransactionRecord[] =>
      sql.transactionsIn.all(slot).map(recordOf),
    blockTimeIn(slot: bigint): number | undefined {
      const row = sql.blockTimeIn.get(slot);
      return row && int(row.block_time);
    },
    /** How many there were, per that many slots; where there were none, the number is missing. */
    countsFrom: (firstSlot: bigint, slotsEach: bigint): ReadonlyMap<bigint, number> =>
      new Map(
        sql.countsFrom.all(slotsEach, firstSlot).map((row) => [BigInt(int(row.period)), int(row.count)]),
      ),
    status(signature: string): StoredTransaction | undefined {
      const row = sql.status.get(signature);
      return row && storedOf(row);
    },
    /** Newest first. */
    transactionsNaming: (address: string, page: SignaturePage): readonly StoredTransaction[] =>
      sql.transactionsNaming
        .all(address, page.before ?? Number.MAX_SAFE_INTEGER, page.until ?? 0, page.uptoSlot, page.limit)
        .map(storedOf),
    transactionCount: () => int(sql.transactionCount.get()?.count),

    /** Resolves once everything written before is on disk. Rejects if it never will be. */
    durable: () => group.durable(),
    /** Something went wrong after which the machine and the disk differ. */
    fail: group.fail,
    close() {
      group.commit();
      database.close();
    },
  };
}

function ownedDatabase(path: string, ownerLimitMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: ownerLimitMs });
  try {
    // Exclusive: the system releases the lock when the process ends, however it ends.
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = full;');
    database.exec(`begin immediate; ${SCHEMA} commit;`);
  } catch (cause) {
    database.close();
    throw new Error(`${path} cannot be opened (${String(cause)}). Is another process running this chain?`, {
      cause,
    });
  }
  return database;
}

/**
 * Writes of one turn of the event loop are one transaction of the database: with many callers at once there is one sync
 * for all of them.
 */
function commitGroupOf(database: DatabaseSync, onBroken: (error: unknown) => void) {
  let waiting: PromiseWithResolvers<void> | undefined;
  let broken: unknown;

  const fail = (error: unknown) => {
    if (broken) return;
    broken = error;
    onBroken(error);
  };
  const commit = () => {
    if (!waiting) return;
    const group = waiting;
    waiting = undefined;
    try {
      database.exec('commit');
      group.resolve();
    } catch (error) {
      fail(error);
      group.reject(error);
    }
  };
  return {
    commit,
    write<T>(change: () => T): T {
      // What the machine has executed is ahead of the disk for ever: nothing may be answered from it.
      if (broken) throw broken;
      if (!waiting) {
        database.exec('begin immediate');
        waiting = Promise.withResolvers();
        // Whoever waits for it gets it; with nobody waiting, the next write reports it.
        waiting.promise.catch(() => undefined);
        setImmediate(commit);
      }
      try {
        return change();
      } catch (error) {
        fail(error);
        throw error;
      }
    },
    fail,
    async durable(): Promise<void> {
      if (broken) throw broken;
      await waiting?.promise;
    },
  };
}

const ACCOUNT = 'lamports, owner, executable, data';
const STATUS = 'sequence, signature, slot, block_time, error, memo';

function statementsOf(database: DatabaseSync) {
  const prepare = (text: string) => database.prepare(text);
  return {
    identity: prepare('select format, genesis, faucet from identity'),
    keepIdentity: prepare('insert into identity (one, format, genesis, faucet) values (1, ?, ?, ?)'),
    mark: prepare('select slot, at_ms from mark'),
    keepMark: prepare('insert or replace into mark (one, slot, at_ms) values (1, ?, ?)'),
    accounts: prepare(`select address, ${ACCOUNT} from accounts`),
    accountsOf: prepare(`select address, ${ACCOUNT} from accounts where owner = ?`),
    accountsOfMint: prepare(
      `select address, ${ACCOUNT} from accounts where ${MINT} = ? and ${OF_TOKEN_PROGRAMS}`,
    ),
    accountsOfDelegate: prepare(
      `select address, ${ACCOUNT} from accounts where ${DELEGATE} = ? and ${IS_DELEGATED}`,
    ),
    // Less than the 2^63 that a sum may have: the faucet once had all of it.
    totalLamports: prepare(
      'select cast(coalesce(sum(cast(lamports as integer)), 0) as text) as total from accounts',
    ),
    changedAfter: prepare('select distinct address from undo where slot > ?'),
    keepAccount: prepare(`insert or replace into accounts (address, ${ACCOUNT}) values (?, ?, ?, ?, ?)`),
    dropAccount: prepare('delete from accounts where address = ?'),
    keepTransaction: prepare(
      'insert into transactions (signature, slot, block_time, error, memo, wire, meta) values (?, ?, ?, ?, ?, ?, ?)',
    ),
    keepNamed: prepare('insert into named (address, sequence) values (?, ?)'),
    keepUndo: prepare(`insert into undo (sequence, slot, address, ${ACCOUNT}) values (?, ?, ?, ?, ?, ?, ?)`),
    keepTokenAccount: prepare('insert or ignore into token_accounts (owner, address) values (?, ?)'),
    tokenAccountsOf: prepare('select address from token_accounts where owner = ? order by address'),
    accountBefore: prepare(
      `select ${ACCOUNT} from undo where address = ? and slot > ? order by sequence limit 1`,
    ),
    forgetUndo: prepare('delete from undo where slot <= ?'),
    // Oldest last: it is the one that stays.
    undoFrom: prepare(`select address, ${ACCOUNT} from undo where slot >= ? order by sequence desc`),
    transactionsFrom: prepare('select wire from transactions where slot >= ? order by sequence'),
    dropUndoFrom: prepare('delete from undo where slot >= ?'),
    dropNamedFrom: prepare(
      'delete from named where sequence in (select sequence from transactions where slot >= ?)',
    ),
    dropTransactionsFrom: prepare('delete from transactions where slot >= ?'),
    timeMarks: prepare('select slot, at_ms, slot_ms from times order by slot'),
    keepTimeMark: prepare('insert or replace into times (slot, at_ms, slot_ms) values (?, ?, ?)'),
    keepFork: prepare('insert into forks (first_slot, last_slot) values (?, ?)'),
    forks: prepare('select first_slot, last_slot from forks order by number'),
    transaction: prepare(`select ${STATUS}, wire, meta from transactions where signature = ?`),
    // Their numbers are in the order of their slots.
    newestSequence: prepare(
      `select coalesce((select sequence from transactions where slot <= ? order by slot desc, sequence desc limit 1), 0)
       as sequence`,
    ),
    transactionsAfter: prepare(
      `select ${STATUS}, wire, meta from transactions where sequence > ? and slot <= ? order by sequence`,
    ),
    transactionsIn: prepare(
      `select ${STATUS}, wire, meta from transactions where slot = ? order by sequence`,
    ),
    blockTimeIn: prepare('select block_time from transactions where slot = ? order by sequence limit 1'),
    countsFrom: prepare(
      'select slot / ? as period, count(*) as count from transactions where slot >= ? group by period',
    ),
    status: prepare(`select ${STATUS} from transactions where signature = ?`),
    transactionsNaming: prepare(
      `select ${STATUS} from named join transactions using (sequence)
       where address = ? and sequence < ? and sequence > ? and slot <= ? order by sequence desc limit ?`,
    ),
    // Only the newest are ever dropped, and their numbers used again.
    transactionCount: prepare('select coalesce(max(sequence), 0) as count from transactions'),
  };
}

type Row = Readonly<Record<string, SQLOutputValue>>;

function writeAccount(
  sql: ReturnType<typeof statementsOf>,
  address: string,
  state: AccountState | undefined,
): void {
  if (state) sql.keepAccount.run(address, ...columnsOf(state));
  else sql.dropAccount.run(address);
}

function* accountRows(rows: Iterable<Row>): Generator<readonly [string, AccountState]> {
  for (const row of rows) yield [text(row.address), accountOf(row)];
}

function columnsOf(state: AccountState): [string, string, number, Uint8Array] {
  return [state.lamports.toString(), state.owner, state.executable ? 1 : 0, state.data];
}

function accountOf(row: Row): AccountState {
  return {
    lamports: BigInt(text(row.lamports)),
    owner: text(row.owner),
    executable: row.executable === 1,
    data: blob(row.data),
  };
}

function recordOf(row: Row): TransactionRecord {
  return { ...storedOf(row), wire: blob(row.wire), meta: text(row.meta) };
}

function storedOf(row: Row): StoredTransaction {
  return {
    sequence: int(row.sequence),
    signature: text(row.signature),
    slot: BigInt(int(row.slot)),
    blockTimeSeconds: int(row.block_time),
    error: row.error === null ? null : text(row.error),
    memo: row.memo === null ? null : text(row.memo),
  };
}

/** The tables are strict: a column holds what its schema says. */
function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('the store holds something else where text belongs');
  return value;
}

function int(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError('the store holds something else where a number belongs');
  return value;
}

function blob(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new TypeError('the store holds something else where bytes belong');
  return value;
}
