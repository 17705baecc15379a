/** The right to run a consumer, kept while this process lives and can reach the database. */
import type { Pool } from '@coffer/database';
import { acquire, type Checkpoint, type ConsumerKey, release, renew } from './consumersTable.ts';
import { monotonicClock } from './monotonicClock.ts';

export interface Lease {
  /** Goes with every write of the checkpoint: a later holder has a higher one. */
  readonly epoch: string;
  /** The checkpoint at the time the lease was taken. */
  readonly place: Checkpoint | undefined;
  /** Stops renewing and lets the next runner in. */
  readonly release: () => Promise<void>;
}

export interface LeaseOptions {
  readonly pool: Pool;
  readonly key: ConsumerKey;
  /** Unique to one runner: it may retake its own lease at once. */
  readonly owner: string;
  readonly leaseMs: number;
  /** Called once, when another has taken the lease or it could not be renewed in time. */
  readonly onLost: () => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Undefined while another runner holds it. */
export async function takeLease(options: LeaseOptions): Promise<Lease | undefined> {
  const { pool, key, owner, leaseMs, onLost, onTrouble } = options;
  const clock = monotonicClock;
  let askedAtMs = clock.nowMs();
  const acquired = await acquire(pool, key, owner, leaseMs);
  if (!acquired) return undefined;

  const { epoch, place } = acquired;
  let held = true;
  let renewing: Promise<void> = Promise.resolve();
  let cancelExpiry = expireIn(askedAtMs + leaseMs);
  let cancelRenewal = clock.after(leaseMs / 3, startRenewal);
  return { epoch, place, release: letGo };

  /** Counted from before the request to the database, so that it ends here no later than there. */
  function expireIn(atMs: number) {
    return clock.after(Math.max(0, atMs - clock.nowMs()), lose);
  }

  function startRenewal() {
    renewing = renewOnce();
  }

  async function renewOnce(): Promise<void> {
    askedAtMs = clock.nowMs();
    try {
      const kept = await renew(pool, key, epoch, leaseMs);
      if (!held) return;
      if (!kept) return lose();
      cancelExpiry();
      cancelExpiry = expireIn(askedAtMs + leaseMs);
    } catch (error) {
      // The lease may outlive a short absence of the database: its expiry decides, and has been told.
      if (held) onTrouble(error);
    }
    if (held) cancelRenewal = clock.after(leaseMs / 3, startRenewal);
  }

  function end(): boolean {
    const wasHeld = held;
    held = false;
    cancelExpiry();
    cancelRenewal();
    return wasHeld;
  }

  function lose(): void {
    if (end()) onLost();
  }

  async function letGo(): Promise<void> {
    end();
    await renewing;
    try {
      await release(pool, key, epoch);
    } catch (error) {
      // Only time is lost: the lease expires by itself.
      onTrouble(error);
    }
  }
}
