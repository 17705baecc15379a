/**
 * All transactions of one chain that may land. They share their polls: one batched call covers hundreds, so that
 * thousands in flight cost few calls; and one loop resends what is not in a block yet.
 */
import type { MonotonicClock } from '@coffer/consumers';
import type { Chain, TransactionStatus } from '@coffer/solana';
import type { MovePolicy } from './policy.ts';

export interface Flight {
  readonly signature: string;
  readonly lastValidBlockHeight: bigint;
  /** Undefined if it is only watched and never sent. */
  readonly transaction: Uint8Array | undefined;
}

/** What became of it, once nothing can change it any longer. */
export type Landing =
  /** In a finalized block; with an error if it failed. */
  | { readonly outcome: 'executed'; readonly slot: bigint; readonly error: string | null }
  /** No block can ever contain it. */
  | { readonly outcome: 'lost' };

export interface Watch {
  /** When a node accepts the bytes for the first time. */
  readonly accepted: Promise<'accepted'>;
  readonly landed: Promise<Landing>;
  /** Stops sending and polling it. */
  readonly leave: () => void;
}

export type Flights = ReturnType<typeof createFlights>;

interface Entry extends Flight {
  status: TransactionStatus | undefined;
  sendAtMs: number;
  askIfLostAtMs: number;
  readonly accepted: PromiseWithResolvers<'accepted'>;
  readonly landed: PromiseWithResolvers<Landing>;
}

/** The most that one call takes. */
const SIGNATURES_PER_CALL = 256;
const PARALLEL_SENDS = 32;
/** The most that one poll asks about without an answer of yes. */
const MOST_NOT_LOST = 3;

export function createFlights({
  chain,
  clock,
  policy,
  onTrouble,
}: {
  readonly chain: Pick<Chain, 'send' | 'statuses' | 'isLost'>;
  readonly clock: MonotonicClock;
  readonly policy: Pick<MovePolicy, 'resendIntervalMs' | 'pollIntervalMs' | 'lossCheckIntervalMs'>;
  readonly onTrouble: (error: unknown) => void;
}) {
  const entries = new Set<Entry>();
  let isSending = false;
  let isPolling = false;
  let polls = 0;
  let cancelSending = () => {};
  let cancelPolling = () => {};

  return {
    watch(flight: Flight): Watch {
      const now = clock.nowMs();
      const entry: Entry = {
        ...flight,
        status: undefined,
        sendAtMs: now,
        askIfLostAtMs: now + policy.lossCheckIntervalMs,
        accepted: Promise.withResolvers(),
        landed: Promise.withResolvers(),
      };
      entries.add(entry);
      startSending();
      if (entries.size === 1 && !isPolling) schedulePolling();
      return {
        accepted: entry.accepted.promise,
        landed: entry.landed.promise,
        leave: () => drop(entry),
      };
    },
    size: () => entries.size,
  };

  function drop(entry: Entry): void {
    entries.delete(entry);
    if (entries.size > 0) return;
    cancelSending();
    cancelPolling();
  }

  function settle(entry: Entry, landing: Landing): void {
    drop(entry);
    entry.landed.resolve(landing);
  }

  // Sending

  function startSending(): void {
    if (isSending) return;
    cancelSending();
    isSending = true;
    void sendDue();
  }

  async function sendDue(): Promise<void> {
    for (;;) {
      const due = [...entries].filter(isDue).slice(0, PARALLEL_SENDS);
      if (due.length === 0) break;
      await Promise.all(due.map(sendOnce));
    }
    // In the same tick as the last check: the next to arrive starts again.
    isSending = false;
    if (entries.size > 0) cancelSending = clock.after(policy.resendIntervalMs, startSending);
  }

  function isDue({ transaction, status, sendAtMs }: Entry): boolean {
    // A transaction in a block that most of the cluster has voted for is resent only if it disappears.
    const isHeld = status !== undefined && status.commitment !== 'processed';
    return transaction !== undefined && !isHeld && sendAtMs <= clock.nowMs();
  }

  async function sendOnce(entry: Entry): Promise<void> {
    entry.sendAtMs = clock.nowMs() + policy.resendIntervalMs;
    if (!entry.transaction) return;
    try {
      const { outcome } = await chain.send(entry.transaction);
      // A refusal proves nothing: what has landed is refused as well.
      if (outcome === 'accepted') entry.accepted.resolve('accepted');
    } catch (error) {
      onTrouble(error);
    }
  }

  // Asking

  function schedulePolling(): void {
    cancelPolling();
    cancelPolling = clock.after(policy.pollIntervalMs, () => void poll());
  }

  async function poll(): Promise<void> {
    isPolling = true;
    try {
      await askForStatuses([...entries]);
      await askForLost();
    } catch (error) {
      onTrouble(error);
    } finally {
      isPolling = false;
      if (entries.size > 0) schedulePolling();
    }
  }

  async function askForStatuses(asked: readonly Entry[]): Promise<void> {
    for (let from = 0; from < asked.length; from += SIGNATURES_PER_CALL) {
      const batch = asked.slice(from, from + SIGNATURES_PER_CALL);
      const statuses = await chain.statuses(batch.map(({ signature }) => signature));
      batch.forEach((entry, index) => {
        const status = statuses[index];
        entry.status = status;
        if (status?.commitment !== 'finalized') return;
        settle(entry, { outcome: 'executed', slot: status.slot, error: status.error });
      });
    }
  }

  /**
   * Those that expire first come first: as long as they can land, all others can. But no is also said of what no node can
   * judge, perhaps for ever, so every second poll asks in turn about those that were asked about longest ago.
   */
  async function askForLost(): Promise<void> {
    const now = clock.nowMs();
    polls += 1;
    const unknown = [...entries]
      .filter(({ status, askIfLostAtMs }) => status === undefined && askIfLostAtMs <= now)
      .sort(polls % 2 === 0 ? byLongestWait : byExpiry);
    let notLost = 0;
    for (const entry of unknown) {
      if (notLost === MOST_NOT_LOST) return;
      if (!entries.has(entry)) continue;
      entry.askIfLostAtMs = now + policy.lossCheckIntervalMs;
      if (await chain.isLost(entry.signature, entry.lastValidBlockHeight)) settle(entry, { outcome: 'lost' });
      else notLost += 1;
    }
  }
}

const byExpiry = (one: Entry, other: Entry): number =>
  Number(one.lastValidBlockHeight - other.lastValidBlockHeight);
const byLongestWait = (one: Entry, other: Entry): number => one.askIfLostAtMs - other.askIfLostAtMs;
