export { admittedMoveReactions } from './admittedMoves.reactions.ts';
export { type AdmittedMoves, createAdmittedMoves } from './admittedMoves.ts';
export {
  type ChainCurrency,
  type ChainWallets,
  createChainWallets,
  type PlayerPlace,
} from './chainWallets.ts';
export { type WalletEvent, walletEvents } from './domain/wallet.events.ts';
export type { ProvisionedWallet, WalletState, WalletStatus } from './domain/wallet.ts';
export { wallet } from './domain/wallet.ts';
export * from './domain/walletIds.ts';
export { SealedKeyError } from './envelope.ts';
export { walletsErrors } from './errors.ts';
export { createExportGuard, type ExportGuard } from './exportGuard.ts';
export { createExports, EXPORT_LIFETIME_MS, type Exports } from './exports.ts';
export * from './masterKeys.ts';
export {
  adoptMasterKeys,
  hasMasterKeysInUse,
  MasterKeysMismatchError,
} from './masterKeyVersions.ts';
export { walletMigrations } from './migrations.ts';
export * from './operator/index.ts';
export { ownAddressesOf } from './ownAddresses.ts';
export { type PlayerWalletRoutes, playerWalletEndpoints } from './playerRoutes.ts';
export { DEFAULT_SIGNING_LIMITS, type SigningLimits } from './policy/limits.ts';
export { type Rewrapper, type RewrapReport, startRewrapper } from './rewrap.ts';
export { createMasterKeyRotation, type MasterKeyRotation, type RotationOptions } from './rotation.ts';
export { masterKeyEndpoints } from './routes.ts';
export { findOwnerOfKey, type KeyOpening } from './sealedKeys.ts';
export { createSigner, type Signer } from './signer.ts';
export {
  createTransactionSigning,
  type SigningOptions,
  type SigningReply,
  type SigningRequest,
  type SignTransaction,
} from './signing.ts';
export { type SigningRoutes, signingEndpoints } from './signingRoutes.ts';
export { provisionsSuccessors } from './successors.reactions.ts';
export { createWalletMigration, type Migrated, type WalletMigration } from './walletMigration.ts';
export * from './wallets.ts';
