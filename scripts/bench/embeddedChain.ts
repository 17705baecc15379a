/** The embedded chain of the service under test, as any client sees it. */
import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from './inParallel.ts';

/** The embedded chain's defaults. */
const SLOT_MS = 400;
const CLOCK_LOOKS = 50;
const MOST_MS_BETWEEN_LOOKS = 25;
const SIGNATURES_PER_CALL = 256;
const FINAL_POLL_MS = 100;
const FINAL_LIMIT_MS = 60_000;

export interface EmbeddedChainClient {
  readonly call: (method: string, params: readonly unknown[]) => Promise<unknown>;
  /** Funds all of them; final when it returns. */
  readonly fund: (addresses: readonly string[], lamports: number) => Promise<void>;
  readonly latestBlockhash: () => Promise<string>;
  /** Returns when the chain says that each one is final. Throws if one has failed. */
  readonly untilFinal: (signatures: readonly string[]) => Promise<void>;
  /** Says when a slot became final, in milliseconds of this machine's clock. */
  readonly finalityClock: () => Promise<(slot: number) => number>;
}

export function embeddedChainClient(url: string, signal: AbortSignal): EmbeddedChainClient {
  return {
    call,
    async fund(addresses, lamports) {
      const gifts = await inParallel(addresses.length, (index) =>
        call('requestAirdrop', [addresses[index], lamports]),
      );
      await untilFinal(gifts.map(String));
    },
    async latestBlockhash() {
      const { value } = asAnswer<{ readonly value: { readonly blockhash: string } }>(
        await call('getLatestBlockhash', [{ commitment: 'confirmed' }]),
      );
      return value.blockhash;
    },
    untilFinal,
    finalityClock,
  };

  async function call(method: string, params: readonly unknown[]): Promise<unknown> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal,
    });
    const answer = asAnswer<{ readonly result?: unknown; readonly error?: unknown }>(await response.json());
    if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer.result;
  }

  async function untilFinal(signatures: readonly string[]): Promise<void> {
    const deadlineMs = performance.now() + FINAL_LIMIT_MS;
    let open = signatures;
    while (open.length > 0) {
      if (performance.now() > deadlineMs) throw new Error(`${open.length} transactions do not become final.`);
      const asked = open.slice(0, SIGNATURES_PER_CALL);
      const { value } = asAnswer<{ readonly value: readonly (SignatureStatus | null)[] }>(
        await call('getSignatureStatuses', [asked, { searchTransactionHistory: true }]),
      );
      const failed = value.find((status) => status?.err);
      if (failed) throw new Error(`A transaction has failed: ${JSON.stringify(failed.err)}`);
      const later = asked.filter((_, index) => value[index]?.confirmationStatus !== 'finalized');
      open = [...later, ...open.slice(SIGNATURES_PER_CALL)];
      if (later.length > 0) await delay(FINAL_POLL_MS, undefined, { signal });
    }
  }

  /** Slots follow a clock, so each look narrows down when the first one became final. */
  async function finalityClock(): Promise<(slot: number) => number> {
    let earliestMs = Number.NEGATIVE_INFINITY;
    let latestMs = Number.POSITIVE_INFINITY;
    for (let look = 0; look < CLOCK_LOOKS; look++) {
      const askedMs = Date.now();
      const slot = Number(await call('getSlot', [{ commitment: 'finalized' }]));
      latestMs = Math.min(latestMs, Date.now() - slot * SLOT_MS);
      earliestMs = Math.max(earliestMs, askedMs - (slot + 1) * SLOT_MS);
      await delay(Math.random() * MOST_MS_BETWEEN_LOOKS, undefined, { signal });
    }
    // A clock in whole milliseconds is wrong by at most one, in either direction.
    if (!(earliestMs < latestMs + 2)) throw new Error(`The chain's slots do not last ${SLOT_MS} ms.`);
    const slotZeroMs = (earliestMs + latestMs) / 2;
    return (slot) => slotZeroMs + slot * SLOT_MS;
  }
}

interface SignatureStatus {
  readonly confirmationStatus: string;
  readonly err: unknown;
}

/** For the chain that comes with the service: its answers are not validated. */
const asAnswer = <Answer>(answer: unknown): Answer => answer as Answer;
