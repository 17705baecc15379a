export type { AdminTransaction } from './adminActions.ts';
export { createAdminTransaction } from './adminActions.ts';
export { type AllowedOriginsOptions, createAllowedOrigins } from './allowedOrigins.ts';
export type { AppDirectory, AppDirectoryOptions, MaybePromise } from './appDirectory.ts';
export { createAppDirectory } from './appDirectory.ts';
export { type App, listApps } from './apps.ts';
export type { BootstrapOptions, BootstrapResult } from './bootstrapDemo.ts';
export { bootstrapDemo } from './bootstrapDemo.ts';
export * from './bootstrapFile.ts';
export { type Currency, listCurrencies } from './currencies.ts';
export { skip } from './domain/skip.ts';
export type {
  AdjustedFunds,
  PortalAccount,
  PortalAccounts,
  PortalAdjustment,
  PortalFunds,
} from './endpoints/accounts.ts';
export type { PastMoment } from './endpoints/pastMoment.ts';
export type { PortalDependencies } from './endpoints/portalEndpoints.ts';
export { portalEndpoints } from './endpoints/portalEndpoints.ts';
export type { ConsumerFigures, PortalProjections } from './endpoints/projections.ts';
export type { PortalReconcile } from './endpoints/reconcile.ts';
export { streamFilter } from './endpoints/streams.ts';
export { PLACE_ERRORS, placeOf } from './endpoints/subject.ts';
export type { PortalTotals } from './endpoints/totals.ts';
export type { PortalUser, PortalUsers } from './endpoints/users.ts';
export type { AppWallet, PortalSweep, PortalWallets } from './endpoints/wallets.ts';
export { portalErrors } from './errors.ts';
export { type CarriedChain, type ImportedLog, importLog, type LogImport } from './importLog.ts';
export type { Keyring, KeyringOptions } from './keyring.ts';
export { createKeyring } from './keyring.ts';
export { portalMigrations } from './migrations.ts';
export * from './operatorFile.ts';
export * from './privateFile.ts';
export type { SettingKey, SettingValues } from './settings.ts';
export { createSkips, type EventSkips } from './skips.ts';
export type { ExportedEvent, StoredEventLine } from './storedEventLine.ts';
