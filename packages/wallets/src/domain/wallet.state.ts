/** A wallet's standing and the moves that it has admitted. */

/** A wallet that has left `active` is followed by one of the next generation, and never comes back. */
export type WalletStatus = 'active' | 'exported' | 'migrated';

export interface WalletFacts {
  readonly walletId: string;
  readonly userId: string;
  readonly address: string;
  readonly generation: number;
  readonly provisionedAt: string;
}

/** The wallet that follows: its id follows from the owner, its key is durable before the end of this one. */
export interface Successor {
  readonly newWalletId: string;
  readonly newAddress: string;
}

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
  /** Of its stream. */
  readonly moveOwnerId: string;
  /** Of the event that admitted it. */
  readonly revision: number;
}

/** Undefined until provisioned. */
export type WalletState =
  | {
      readonly wallet: ProvisionedWallet;
      /** Of the last event. */
      readonly revision: number;
      /** Those that were not released: what has ended is not remembered. By move id. */
      readonly admitted: ReadonlyMap<string, AdmittedMove>;
    }
  | undefined;
