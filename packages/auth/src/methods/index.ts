export {
  type AuthMethods,
  type AuthMethodsOptions,
  createAuthMethods,
} from './authMethods.ts';
export { fileTransport, type MailTransport, smtpTransport } from './email/transport.ts';
export { authMethodsErrors } from './errors.ts';
export type { SignIn } from './routes.ts';
export type { SettingsOf } from './settings.ts';
