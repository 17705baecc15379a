/** Who has signed in: the shapes that both clients hand out. Source: specification, Resources; contract, Sign-in. */
import type { Fields } from './answers.ts';

/** One of the words known today; a service that is newer may add others. */
export type Open<Word extends string> = Word | (string & Record<never, never>);

export interface Identity {
  readonly id: string;
  readonly type: Open<'wallet' | 'messenger' | 'email'>;
  /** The public key, the messenger's user id, or the email address. */
  readonly externalId: string;
  /** What the sign-in method has told. */
  readonly profile: Readonly<Record<string, string>>;
}

export interface WalletSummary {
  readonly id: string;
  readonly address: string;
  readonly environment: 'test' | 'live';
  readonly custody: Open<'operator'>;
  readonly status: Open<'active' | 'exported' | 'migrated'>;
}

export interface User {
  readonly id: string;
  readonly appId: string;
  readonly primaryIdentity: Identity;
  readonly identities: readonly Identity[];
  readonly wallets: readonly WalletSummary[];
  readonly createdAt: string;
}

const readIdentity = (fields: Fields): Identity => ({
  id: fields.text('id'),
  type: fields.text('type'),
  externalId: fields.text('externalId'),
  profile: fields.textsByName('profile'),
});

export const readWallet = (fields: Fields): WalletSummary => ({
  id: fields.text('id'),
  address: fields.text('address'),
  environment: fields.oneOf('environment', ['test', 'live']),
  custody: fields.text('custody'),
  status: fields.text('status'),
});

export const readUser = (fields: Fields): User => ({
  id: fields.text('id'),
  appId: fields.text('appId'),
  primaryIdentity: readIdentity(fields.object('primaryIdentity')),
  identities: fields.list('identities', readIdentity),
  wallets: fields.list('wallets', readWallet),
  createdAt: fields.text('createdAt'),
});

/** What the service vouches for when a backend hands it a player's access token. */
export interface VerifiedSession {
  readonly userId: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  readonly authMethod: Open<'siws' | 'messenger' | 'email'>;
  /** The address of the player's wallet, to compare with what a browser claims; null without an active one. */
  readonly walletAddress: string | null;
  readonly wallets: readonly WalletSummary[];
  readonly identities: readonly Identity[];
}

export const readVerifiedSession = (fields: Fields): VerifiedSession => ({
  userId: fields.text('userId'),
  appId: fields.text('appId'),
  environment: fields.oneOf('environment', ['test', 'live']),
  authMethod: fields.text('authMethod'),
  walletAddress: fields.nullable('walletAddress', fields.text),
  wallets: fields.list('wallets', readWallet),
  identities: fields.list('identities', readIdentity),
});

/** Whether the player holds this wallet now: the check a backend owes to every address a browser tells it. */
export function ownsWallet(
  session: Pick<VerifiedSession, 'walletAddress' | 'wallets'>,
  address: string,
): boolean {
  return (
    session.walletAddress === address ||
    session.wallets.some((wallet) => wallet.status === 'active' && wallet.address === address)
  );
}
