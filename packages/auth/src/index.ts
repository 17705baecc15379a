export { authContext, refreshKeyFrom } from './context.ts';
export { IdentityKeyMismatchError, requireIdentityKey } from './identities/index.ts';
export { fileTransport, type MailTransport, smtpTransport } from './methods/index.ts';
export { authMigrations } from './migrations.ts';
export { createSigningKeys } from './sessions/index.ts';
