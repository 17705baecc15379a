/** Who owns a wallet, and the names derived from that. */
import { type Environment, idFromParts, streamName, type UserPlace } from '@coffer/kernel';

/** Where a wallet belongs: a scope is shared by its apps, an environment is shared by nothing. */
export interface WalletPlace {
  /** The scope, whose apps share their users' wallets; for an app's own wallets, the app. */
  readonly ownerId: string;
  readonly environment: Environment;
  readonly walletId: string;
}

/**
 * The id of the owner's wallet of that generation, from 1. It is derived from its parts, so that everybody who
 * provisions it, twice, in parallel or after a crash, means the same wallet.
 */
export const walletIdOf = ({ scopeId, environment, userId }: UserPlace, generation: number): string =>
  idFromParts('wlt', 'wallet', scopeId, environment, userId, `${generation}`);

export const walletStreamName = ({ ownerId, environment, walletId }: WalletPlace): string =>
  streamName('wallet', environment, ownerId, walletId);
