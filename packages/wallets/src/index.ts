export { admittedMoveReactions } from './admittedMoves.reactions.ts';
export { type AdmittedMoves, createAdmittedMoves } from './admittedMoves.ts';
export { walletsContext } from './context.ts';
export { wallet } from './domain/wallet.ts';
export * from './domain/walletIds.ts';
export { walletsErrors } from './errors.ts';
export * from './masterKeys.ts';
export {
  adoptMasterKeys,
  hasMasterKeysInUse,
  MasterKeysMismatchError,
} from './masterKeyVersions.ts';
export { walletMigrations } from './migrations.ts';
export { type OperatorWallets, operatorWalletIdOf } from './operator/index.ts';
export { startRewrapper } from './rewrap.ts';
export { createMasterKeyRotation } from './rotation.ts';
export type { WalletAt } from './sealedKeys.ts';
export { createSigner, type Signer } from './signer.ts';
export * from './wallets.ts';
