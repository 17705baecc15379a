export { walletsContext } from './context.ts';
export { type WalletEvent, walletEvents } from './domain/wallet.events.ts';
export { type WalletPlace, walletIdOf, walletStreamName } from './domain/walletIds.ts';
export {
  createMasterKeys,
  type MasterKey,
  type MasterKeys,
  MasterKeysFormatError,
  masterKeysText,
  newMasterKey,
  parseMasterKeys,
} from './masterKeys.ts';
export {
  adoptMasterKeys,
  hasMasterKeysInUse,
  MasterKeysMismatchError,
} from './masterKeyVersions.ts';
export { walletMigrations } from './migrations.ts';
export { type OperatorWallets, operatorWalletIdOf } from './operator/index.ts';
export type { WalletAt } from './sealedKeys.ts';
export type { Signer } from './signer.ts';
export { createWallets, identityWalletsOf } from './wallets.ts';
