/** Names of moves: an id is derived from its key, so that a repeated request means the same move. */
import { type Environment, idFromParts, parseStreamName, streamName } from '@coffer/kernel';

const CATEGORY = 'move';

/** The owner of a move's stream: the app for the treasury's moves, the scope for moves of users' wallets. */
export interface MovePlace {
  readonly environment: Environment;
  readonly ownerId: string;
  readonly moveId: string;
}

/** A `ref` is unique per app and environment, over both kinds of treasury move. */
export const treasuryMovePlace = (environment: Environment, appId: string, ref: string): MovePlace => ({
  environment,
  ownerId: appId,
  moveId: idFromParts('mov', 'treasury', environment, appId, ref),
});

/** An `idempotencyKey` is unique per wallet. */
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

/** The key names the round of forwarding what has arrived at a replaced wallet. */
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

/** Undefined for a stream that is not a move. */
export function parseMoveStream(stream: string): MovePlace | undefined {
  const parts = parseStreamName(stream);
  if (parts?.category !== CATEGORY) return undefined;
  return { environment: parts.environment, ownerId: parts.owner, moveId: parts.id };
}
