/** Types shared by the folders of this package. Source: contract, Sign-in and sessions. */
import type { z } from 'zod';
import type { identityBody, walletBody } from './sessions/bodies.ts';

type IdentityType = 'wallet' | 'messenger' | 'email';

export type AuthMethod = 'siws' | 'messenger' | 'email';

/** What a sign-in method has proved. */
export interface VerifiedIdentity {
  readonly type: IdentityType;
  /** The public key, the messenger user id, or the normalised email address. */
  readonly externalId: string;
  /** `{}` for a wallet, `{ username?, firstName?, lastName?, photoUrl? }` for a messenger, `{ email }` for email. */
  readonly profile: Readonly<Record<string, string>>;
}

/** Facts of the first touch, kept for referrals. */
export interface FirstTouch {
  readonly referralCode?: string | undefined;
  readonly gameKey?: string | undefined;
}

type IdentityView = Readonly<z.output<typeof identityBody>>;
export type WalletSummary = Readonly<z.output<typeof walletBody>>;

export interface UserView {
  /** A `usr_` id. */
  readonly id: string;
  /** The app of the sign-in or session, not the one through which the user first came. */
  readonly appId: string;
  readonly primaryIdentity: IdentityView;
  readonly identities: readonly IdentityView[];
  readonly wallets: readonly WalletSummary[];
  readonly createdAt: string;
}
