/** What subscribers are sent, by kind: each look sends what is new since the one before. */
import { parseJson, writeJson } from '../json.ts';
import type { Commitment } from '../ledger/ledger.ts';
import type { TransactionRecord } from '../ledger/store.ts';
import { isWritable } from '../wire.ts';
import { accountFilter } from './accountFilters.ts';
import { accountJson } from './accountJson.ts';
import { type RpcContext, withContext } from './context.ts';
import { invalidParams } from './errors.ts';
import { asAddress, asSignature, type Params, type Settings } from './params.ts';
import { type RecordedTransaction, recordedTransaction } from './transactionJson.ts';

/** Looks whether there is anything to send. Returns whether the subscription is complete. */
export type Look = (notify: (method: string, result: unknown) => void) => boolean;

const SYSTEM_PROGRAM = '1'.repeat(32);
/** After a longer pause, the oldest are left out. */
const MOST_SLOTS_TOLD = 1000n;

export function createLooks(context: RpcContext) {
  const feeds = new Map<Commitment, ReturnType<typeof createFeed>>();
  const feedOf = (settings: Settings) => {
    const commitment = settings.commitment ?? 'finalized';
    const feed = feeds.get(commitment) ?? createFeed(commitment, context);
    feeds.set(commitment, feed);
    return feed;
  };
  const kinds = new Map<string, (params: Params) => Look>([
    ['signature', (params) => signatureLook(params, context)],
    ['account', (params) => accountLook(params, context)],
    ['slot', () => slotLook(context)],
    ['root', () => rootLook(context)],
    ['logs', (params) => logsLook(params, feedOf(params.settings(1)))],
    ['program', (params) => programLook(params, feedOf(params.settings(1)), context)],
  ]);
  return {
    kinds,
    /** Before each round of looks, so that all of them see the same transactions. */
    begin(): void {
      for (const feed of feeds.values()) feed.advance();
    },
    /** If there are no subscribers left. */
    forget: () => feeds.clear(),
    forked(): void {
      for (const feed of feeds.values()) feed.rewind();
    },
  };
}

interface Executed extends RecordedTransaction {
  readonly signature: string;
  readonly slot: bigint;
}

/** The transactions that have reached a commitment since the last round. */
function createFeed(commitment: Commitment, { ledger, faults }: RpcContext) {
  const newestSlot = () => ledger.slotAt(commitment, faults.tip());
  let told = ledger.newestSequence(newestSlot());
  let batch: readonly Executed[] = [];
  return {
    batch: () => batch,
    newestSlot,
    advance(): void {
      const records: readonly TransactionRecord[] = ledger.transactionsAfter(told, newestSlot());
      told = records.at(-1)?.sequence ?? told;
      batch = records.map((record) => ({ ...record, ...recordedTransaction(record) }));
    },
    rewind(): void {
      told = Math.min(told, ledger.transactionCount());
    },
  };
}

type Feed = ReturnType<typeof createFeed>;

const newestFor = ({ ledger, faults }: RpcContext, settings: Settings) =>
  ledger.slotAt(settings.commitment ?? 'finalized', faults.tip());

/** Sent once, when the transaction has reached the commitment. */
function signatureLook(params: Params, context: RpcContext): Look {
  const signature = asSignature(params.string(0));
  const settings = params.settings(1);
  return (notify) => {
    const found = context.ledger.status(signature);
    if (!found || found.slot > newestFor(context, settings)) return false;
    const err = found.error === null ? null : parseJson(found.error);
    notify('signatureNotification', withContext(found.slot, { err }));
    return true;
  };
}

function accountLook(params: Params, context: RpcContext): Look {
  const address = params.address(0);
  const settings = params.settings(1);
  const view = () => {
    const slot = newestFor(context, settings);
    const account = (of: string) => context.ledger.accountAt(of, slot);
    // A closed account is shown as what is left of it.
    const nothing = { lamports: 0n, owner: SYSTEM_PROGRAM, data: new Uint8Array(), executable: false };
    const state = account(address) ?? nothing;
    const { encoding, dataSlice } = settings;
    return {
      slot,
      json: accountJson(state, { encoding: encoding ?? undefined, dataSlice, account, isNotified: true }),
    };
  };
  let told = writeJson(view().json);
  return (notify) => {
    const { slot, json } = view();
    const text = writeJson(json);
    if (text !== told) notify('accountNotification', withContext(slot, json));
    told = text;
    return false;
  };
}

/** `all`, or those that name one address. */
function logsLook(params: Params, feed: Feed): Look {
  const isWanted = logsFilter(params.value(0));
  return (notify) => {
    for (const { signature, slot, meta, accounts } of feed.batch()) {
      if (!isWanted(accounts)) continue;
      notify('logsNotification', withContext(slot, { signature, err: meta.err, logs: meta.logMessages }));
    }
    return false;
  };
}

function logsFilter(filter: unknown): (accounts: readonly string[]) => boolean {
  // Nobody votes: with and without votes they are the same.
  if (filter === 'all' || filter === 'allWithVotes') return () => true;
  const mentions = typeof filter === 'object' && filter && 'mentions' in filter ? filter.mentions : undefined;
  if (!Array.isArray(mentions)) throw invalidParams('Invalid params: the filter is none of logs');
  const [address, ...others] = mentions;
  if (typeof address !== 'string' || others.length > 0) {
    throw invalidParams('Invalid Request: Only 1 address supported');
  }
  const wanted = asAddress(address);
  return (accounts) => accounts.includes(wanted);
}

function programLook(params: Params, feed: Feed, { ledger }: RpcContext): Look {
  const program = params.address(0);
  const settings = params.settings(1);
  const isWanted = accountFilter(settings);
  return (notify) => {
    const slot = feed.newestSlot();
    const account = (address: string) => ledger.accountAt(address, slot);
    const written = new Set(feed.batch().flatMap(writtenBy));
    for (const pubkey of written) {
      const state = account(pubkey);
      if (state?.owner !== program || !isWanted(state)) continue;
      const { encoding, dataSlice } = settings;
      const json = accountJson(state, {
        encoding: encoding ?? undefined,
        dataSlice,
        account,
        isNotified: true,
      });
      notify('programNotification', withContext(slot, { pubkey, account: json }));
    }
    return false;
  };
}

const writtenBy = ({ wire, accounts }: Executed) =>
  accounts.filter((_address, index) => isWritable(wire.message, index));

function slotLook({ ledger, faults }: RpcContext): Look {
  return eachSlot(faults.tip, (slot, notify) =>
    notify('slotNotification', { slot, parent: slot - 1n, root: ledger.slotAt('finalized', slot) }),
  );
}

function rootLook({ ledger, faults }: RpcContext): Look {
  const root = () => ledger.slotAt('finalized', faults.tip());
  return eachSlot(root, (slot, notify) => notify('rootNotification', slot));
}

function eachSlot(newest: () => bigint, tell: (slot: bigint, notify: Parameters<Look>[0]) => void): Look {
  let told = newest();
  return (notify) => {
    const slot = newest();
    if (slot - told > MOST_SLOTS_TOLD) told = slot - MOST_SLOTS_TOLD;
    while (told < slot) {
      told += 1n;
      tell(told, notify);
    }
    return false;
  };
}
