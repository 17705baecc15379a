/** What outlives the chain's process: its store, its identity, and the newest slot that anyone has seen. */
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createFaucet, type Faucet } from './faucet.ts';
import { FIRST_SLOT, type Slots } from './ledger/slots.ts';
import { openStore, type Store } from './ledger/store.ts';

export interface ChainFolder {
  readonly store: Store;
  /** 32 random bytes that distinguish this chain from every other. */
  readonly genesis: Uint8Array;
  readonly faucet: Faucet;
  /** The slot to continue with; `slotMs` is undefined if no time passes while the chain is stopped. */
  readonly startSlot: (slotMs: number | undefined) => bigint;
  /** The same slots, each recorded before anyone sees it. */
  readonly noting: (slots: Slots) => Slots;
  readonly close: () => void;
}

/** Without a folder, nothing outlives the process. */
export function openChainFolder(folder: string | undefined, onBroken: (error: unknown) => void): ChainFolder {
  const store = openStoreIn(folder, onBroken);
  try {
    const identity = identityOf(store);
    const tip = folder === undefined ? undefined : openTip(join(folder, 'tip'));
    return {
      ...{ store, ...identity },
      startSlot: (slotMs) => startSlot(store, tip?.last, slotMs),
      noting: tip?.noting ?? ((slots) => slots),
      close() {
        store.close();
        tip?.close();
      },
    };
  } catch (error) {
    store.close();
    throw error;
  }
}

function openStoreIn(folder: string | undefined, onBroken: (error: unknown) => void): Store {
  if (folder === undefined) return openStore(':memory:', onBroken);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'chain.db');
  // Before SQLite creates it: the faucet's key is in it, and its other files get its mode.
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  return openStore(path, onBroken);
}

function identityOf(store: Store): { genesis: Uint8Array; faucet: Faucet } {
  const known = store.identity();
  if (known) return { genesis: known.genesis, faucet: createFaucet(known.faucet) };
  const genesis = randomBytes(32);
  const seed = randomBytes(32);
  store.keepIdentity(genesis, seed);
  return { genesis, faucet: createFaucet(seed) };
}

/**
 * After all slots that anyone has seen. While the chain was stopped its slots passed as on any cluster, so what was
 * signed before expires when its time is over.
 */
function startSlot(store: Store, tip: bigint | undefined, slotMs: number | undefined): bigint {
  const mark = store.mark();
  if (!mark) return FIRST_SLOT + 1n;
  const known = tip !== undefined && tip > mark.slot ? tip : mark.slot;
  if (slotMs === undefined) return known + 1n;
  const passedMs = Math.max(0, Date.now() - mark.atMs);
  const now = mark.slot + BigInt(Math.floor(passedMs / slotMs));
  return now > known ? now : known + 1n;
}

/**
 * The newest slot, even if nothing happened in it. Written without a sync: it outlives the process, and after a power
 * cut the time that has passed makes up for it.
 */
function openTip(path: string) {
  closeSync(openSync(path, 'a', 0o600));
  const text = readFileSync(path, 'utf8');
  const file = openSync(path, 'r+');
  let noted = 0n;
  return {
    last: /^\d{20}\n$/.test(text) ? BigInt(text) : undefined,
    noting: (slots: Slots): Slots => ({
      now() {
        const slot = slots.now();
        if (slot > noted) {
          noted = slot;
          writeSync(file, `${slot.toString().padStart(20, '0')}\n`, 0);
        }
        return slot;
      },
    }),
    close: () => closeSync(file),
  };
}
