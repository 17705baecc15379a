/** The names of moves: an id follows from its key, so that whoever repeats a request means the same move. */
import { type Environment, idFromParts, parseStreamName, streamName } from '@coffer/kernel';

const CATEGORY = 'move';

/** Where a move's stream stands: the app for the treasury's, the scope for those of users' wallets. */
export interface MovePlace {
  readonly environment: Environment;
  readonly ownerId: string;
  readonly moveId: string;
}

/** A `ref` is one per app and environment, over both kinds of move of the treasury. */
export const treasuryMovePlace = (environment: Environment, appId: string, ref: string): MovePlace => ({
  environment,
  ownerId: appId,
  moveId: idFromParts('mov', 'treasury', environment, appId, ref),
});

/** An `idempotencyKey` is one per wallet. */
export const withdrawalPlace = (
  environment: Environment,
  scopeId: string,
  walletId: string,
  idempotencyKey: string,
): MovePlace => ({
  environment,
  ownerId: scopeId,
  moveId: idFromParts('mov', 'withdraw', environment, walletId, idempotencyKey),
});

/** The key says which round of sending on what has arrived at a wallet that was replaced. */
export const sweepPlace = (
  environment: Environment,
  scopeId: string,
  walletId: string,
  key: string,
): MovePlace => ({
  environment,
  ownerId: scopeId,
  moveId: idFromParts('mov', 'sweep', environment, walletId, key),
});

export const moveStreamName = ({ environment, ownerId, moveId }: MovePlace): string =>
  streamName(CATEGORY, environment, ownerId, moveId);

/** Undefined for a stream that is no move's. */
export function parseMoveStream(stream: string): MovePlace | undefined {
  const parts = parseStreamName(stream);
  if (parts?.category !== CATEGORY) return undefined;
  return { environment: parts.environment, ownerId: parts.owner, moveId: parts.id };
}
