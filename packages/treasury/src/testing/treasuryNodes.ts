/**
 * Two nodes of the treasury on one log, with real accounts, moves and users, for specs. The chain consists of figures
 * that the spec sets; the spec also writes what the driver of moves would write.
 */

import { randomUUID } from 'node:crypto';
import { createAccounts, createHoldActs, settlesDue } from '@coffer/accounts';
import type { Reaction } from '@coffer/consumers';
import { actOnAllOwed } from '@coffer/consumers/testing';
import { createCommandHandler, type EventStore, type RecordedEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { Died } from '@coffer/event-store/testing';
import {
  type AccountKey,
  type Environment,
  encodeMetadata,
  type FailPoint,
  type FailPointName,
  newId,
} from '@coffer/kernel';
import {
  type MoveEvent,
  moveEvents,
  moveStreamName,
  type PayingWallet,
  treasuryMovePlace,
} from '@coffer/moves';
import { memoryRentSponsor } from '@coffer/moves/testing';
import { type Chain, type Commitment, chainNotConfigured } from '@coffer/solana';
import { memoryChain, testWallet } from '@coffer/solana/testing';
import { patiently } from '@coffer/testing';
import { createUsers } from '@coffer/users';
import { type WalletPlace, walletIdOf } from '@coffer/wallets';
import { walletsWithoutKeys } from '@coffer/wallets/testing';
import type { TreasuryCurrency } from '../parties.ts';
import { cashOutHoldAct, treasuryDues } from '../treasury.reactions.ts';
import { createTreasury, type TreasuryBooks, type TreasuryDependencies } from '../treasury.ts';

export const SOL: TreasuryCurrency = { id: 1, decimals: 9, mint: { test: 'native', live: 'native' } };
export const CHIP_ID = 2;
/** Can be played with, but is not on a chain. */
export const POINTS: TreasuryCurrency = { id: 3, decimals: 0, mint: { test: null, live: null } };
export const RENT_MINIMUM = 890_880n;
export const TREASURY = testWallet('treasury').address;
const FIRST_TIME = Date.UTC(2026, 0, 31, 12);

export type TreasuryWorld = Awaited<ReturnType<typeof createTreasuryWorld>>;

export async function createTreasuryWorld({
  store = createMemoryEventStore(),
  booksOf,
  mayDie = () => false,
}: {
  readonly store?: EventStore;
  /** Default: what a spec sets. */
  readonly booksOf?: TreasuryDependencies['booksOf'];
  /** Called at each fail point, in addition to those that a spec names. */
  readonly mayDie?: () => boolean;
} = {}) {
  const place = { appId: newId('app'), scopeId: newId('scp'), environment: 'test' as Environment };
  const memory = memoryChain();
  const chipMint = memory.createMint({ decimals: 6 });
  const chip: TreasuryCurrency = {
    id: CHIP_ID,
    decimals: 6,
    mint: { test: chipMint.address, live: null },
  };
  const dies = new Set<FailPointName>();
  let books: TreasuryBooks = { liabilities: 0n, inFlight: 0n };
  let isConfigured = true;
  let timeMs = FIRST_TIME;
  const asked: Commitment[] = [];

  const clock = () => {
    timeMs += 1_000;
    return new Date(timeMs);
  };
  const addressOf = (userId: string) => testWallet(userId).address;
  const walletPlaceOf = (userId: string): WalletPlace => {
    const owner = { ...place, userId };
    return { environment: place.environment, ownerId: place.scopeId, walletId: walletIdOf(owner, 1) };
  };
  const payerOf = (userId: string): PayingWallet => {
    const { walletId, ownerId } = walletPlaceOf(userId);
    return { walletId, ownerId, address: addressOf(userId) };
  };
  const chain: Chain = {
    ...memory,
    accounts(addresses, commitment) {
      asked.push(commitment);
      return memory.accounts(addresses, commitment);
    },
    tokenAccountsOf(owner, commitment) {
      asked.push(commitment);
      return memory.tokenAccountsOf(owner, commitment);
    },
  };
  async function setLamports(address: string, wanted: bigint): Promise<void> {
    const [account] = await memory.accounts([address], 'processed');
    memory.fund(address, wanted - (account?.lamports ?? 0n));
  }

  const rentSponsor = memoryRentSponsor();
  const startNode = () => {
    const handler = createCommandHandler({ store });
    const accounts = createAccounts({ handler, store });
    const users = createUsers({ handler, store, clock });
    const failPoint: FailPoint = (name) => {
      if (dies.delete(name) || mayDie()) throw new Died(name);
    };
    const wallets = walletsWithoutKeys({ handler, store, clock, failPoint });
    const { moves } = wallets;
    const treasury = createTreasury({
      moves,
      rentSponsor,
      clock,
      failPoint,
      accounts,
      users,
      currencyById: (_appId, id) => [SOL, chip, POINTS].find((currency) => currency.id === id),
      chainOf(environment) {
        if (!isConfigured) throw chainNotConfigured(environment);
        return chain;
      },
      async walletOf({ userId }, deadline) {
        const known = await wallets.stateOf(walletPlaceOf(userId), deadline);
        return known?.wallet.status === 'active' ? payerOf(userId) : undefined;
      },
      treasuryOf: async ({ appId }) => ({ walletId: 'wlt-treasury', ownerId: appId, address: TREASURY }),
      booksOf: booksOf ?? (async () => books),
    });
    return { accounts, users, wallets, moves, treasury };
  };
  const context = () => ({ requestId: 'req-1', actor: 'key:1', deadlineMs: patiently() });
  const nodes = [startNode(), startNode()] as const;

  const reactionsOf = (node: 0 | 1): readonly Reaction[] => {
    const { treasury } = nodes[node];
    const holds = createHoldActs();
    holds.register('cashout', cashOutHoldAct(treasury));
    return [holds.reaction, ...treasuryDues(treasury).map(settlesDue), ...nodes[node].wallets.reactions];
  };

  const events = async (): Promise<readonly RecordedEvent[]> =>
    (await Array.fromAsync(store.readAll({}))).flat();

  async function newPlayer(given: { readonly lamports?: bigint; readonly hasWallet?: boolean } = {}) {
    const { environment, scopeId, appId } = place;
    const { answer } = await nodes[0].users.register({ environment, scopeId, appId }, context());
    const { userId } = answer;
    const address = addressOf(userId);
    if (given.hasWallet ?? true) {
      await nodes[0].wallets.provision(walletPlaceOf(userId), { userId, address }, context());
    }
    await setLamports(address, given.lamports ?? 100_000_000_000n);
    return userId;
  }
  await setLamports(TREASURY, 100_000_000_000n);

  /** What the driver of moves would write next. */
  async function appendToMove(ref: string, ...ofMove: readonly MoveEvent[]): Promise<void> {
    await store.append({
      stream: moveStreamName(treasuryMovePlace(place.environment, place.appId, ref)),
      expectedRevision: 'streamExists',
      events: ofMove.map((event) => {
        const { schemaVersion, ...stored } = moveEvents.encode(event);
        const metadata = { correlationId: 'driver', actor: 'service', occurredAt: clock().toISOString() };
        return { id: randomUUID(), ...stored, metadata: encodeMetadata(metadata, schemaVersion) };
      }),
    });
  }
  async function subjectOf(ref: string) {
    const at = treasuryMovePlace(place.environment, place.appId, ref);
    const move = await nodes[0].moves.find(at, context());
    if (!move) throw new Error(`Nothing was requested under ${ref}.`);
    const { operation, key, appId, userId, currencyId, amount, admittedBy } = move;
    return { operation, key, appId, userId, currencyId, amount, ...(admittedBy && { admittedBy }) };
  }
  const sign = (ref: string) =>
    appendToMove(ref, {
      type: 'TransactionSigned',
      data: {
        attempt: 1,
        signature: `signature-${ref}`,
        transaction: 'AQID',
        blockhash: 'blockhash',
        lastValidBlockHeight: 150n,
        feePayer: 'address-fee-payer',
      },
    });

  return {
    store,
    place,
    nodes,
    treasury: nodes[0].treasury,
    context,
    newPlayer,
    /** Its user takes the key of the wallet. */
    exportKey: (userId: string, node: 0 | 1 = 0) =>
      nodes[node].wallets.exportKey(walletPlaceOf(userId), context()),
    addressOf,
    walletPlaceOf,
    payerOf,
    accountOf: (userId: string, currencyId = SOL.id): AccountKey => ({
      environment: place.environment,
      appId: place.appId,
      userId,
      currencyId,
    }),
    events,
    typesOf: async (prefix: string) =>
      (await events()).filter(({ stream }) => stream.startsWith(prefix)).map(({ type }) => type),
    chain: memory,
    rentSponsor,
    chipMint,
    setLamports,
    setBooks(given: TreasuryBooks) {
      books = given;
    },
    unconfigureChain() {
      isConfigured = false;
    },
    askedOfChain: asked,
    /** The next request that gets there dies. */
    dieAt: (name: FailPointName) => void dies.add(name),
    sign,
    async confirm(ref: string, { isSigned = false }: { readonly isSigned?: boolean } = {}) {
      const subject = await subjectOf(ref);
      if (!isSigned) await sign(ref);
      await appendToMove(ref, {
        type: 'MoveConfirmed',
        data: { ...subject, signature: `signature-${ref}`, slot: 321n },
      });
    },
    async fail(ref: string) {
      const subject = await subjectOf(ref);
      await appendToMove(ref, {
        type: 'MoveFailed',
        data: { ...subject, code: 'moves/never_landed', signature: null, slot: null },
      });
    },
    reactionsOf,
    /** Does what the hold process does with everything that the log owes; returns how much that was. */
    finish: async (node: 0 | 1 = 1) => actOnAllOwed(await events(), reactionsOf(node)),
  };
}
