export {
  type AuthMethods,
  type AuthMethodsOptions,
  createAuthMethods,
} from './authMethods.ts';
export { fileTransport, type MailTransport, smtpTransport } from './email/transport.ts';
export { authMethodsErrors } from './errors.ts';
export type { SessionBody, SignIn } from './routes.ts';
export type { MethodSettings, SettingsOf } from './settings.ts';
export type { OriginPolicy } from './siws/siws.ts';
