/** A wallet's standing and the moves that it has admitted. */
import type { WalletEvent } from './wallet.events.ts';

export type WalletFacts = Extract<WalletEvent, { type: 'WalletProvisioned' }>['data'];

/** The wallet that follows: its id is derived from the owner, and its key is durable before this one ends. */
export interface Successor {
  readonly newWalletId: string;
  readonly newAddress: string;
}

/** Otherwise it is followed by one of the next generation, and never becomes active again. */
export interface ActiveWallet extends WalletFacts {
  readonly status: 'active';
}

export interface ExportedWallet extends WalletFacts, Successor {
  readonly status: 'exported';
  readonly idempotencyKey: string;
  readonly recipientPublicKey: string | null;
  readonly exportedAt: string;
}

interface MigratedWallet extends WalletFacts, Successor {
  readonly status: 'migrated';
  readonly ref: string;
  readonly migratedAt: string;
}

export type ProvisionedWallet = ActiveWallet | ExportedWallet | MigratedWallet;

export interface AdmittedMove {
  readonly moveId: string;
  /** The owner of its stream. */
  readonly moveOwnerId: string;
  /** The revision of the event that admitted it. */
  readonly revision: number;
}

/** Undefined until provisioned. */
export type WalletState =
  | {
      readonly wallet: ProvisionedWallet;
      /** The revision of the last event. */
      readonly revision: number;
      /** Moves that have not been released, by move id; released ones are forgotten. */
      readonly admitted: ReadonlyMap<string, AdmittedMove>;
    }
  | undefined;
