/** Whose a wallet is, and the names that follow from that. */
import { type Environment, idFromParts, streamName, type UserPlace } from '@coffer/kernel';

/** A wallet's place: the scope is shared by its apps, the environment by nothing. */
export interface WalletPlace {
  /** The scope, whose apps share the wallets of their users; of an app's own wallets the app. */
  readonly ownerId: string;
  readonly environment: Environment;
  readonly walletId: string;
}

/**
 * The id of the owner's wallet of that generation, from 1. It follows from its parts, so that whoever provisions it,
 * twice, in parallel or after a crash, means the same wallet.
 */
export const walletIdOf = ({ scopeId, environment, userId }: UserPlace, generation: number): string =>
  idFromParts('wlt', 'wallet', scopeId, environment, userId, `${generation}`);

export const walletStreamName = ({ ownerId, environment, walletId }: WalletPlace): string =>
  streamName('wallet', environment, ownerId, walletId);
