/** The moves that a wallet has admitted and not yet released, and how each is released once it has ended. */
import { type CommandHandler, causedBy, type Deadline } from '@coffer/event-store';
import type { FailPoint } from '@coffer/kernel';
import type { Moves } from '@coffer/moves';
import type { AdmittedMove, WalletState } from './domain/wallet.state.ts';
import { wallet } from './domain/wallet.ts';
import { type WalletPlace, walletStreamName } from './domain/walletIds.ts';

export function createAdmissions({
  moves,
  handler,
  failPoint,
}: {
  readonly moves: Pick<Moves, 'trace'>;
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly failPoint: FailPoint;
}) {
  return { admittedIn, isOnItsWay, release, settle };

  async function admittedIn(place: WalletPlace, deadline: Deadline): Promise<readonly AdmittedMove[]> {
    const state: WalletState = await handler.load(wallet, walletStreamName(place), deadline);
    return [...(state?.admitted.values() ?? [])];
  }

  async function release(place: WalletPlace, moveId: string, deadlineMs: number): Promise<void> {
    const known = (await admittedIn(place, { deadlineMs })).find((one) => one.moveId === moveId);
    if (known) await settle(place, known, deadlineMs);
  }

  async function isOnItsWay({ environment, walletId }: WalletPlace, move: AdmittedMove): Promise<boolean> {
    const found = await moves.trace({ environment, ownerId: move.moveOwnerId, moveId: move.moveId });
    // Not requested yet: whoever admitted it is about to request it, or the process will.
    return !found || (found.order.admittedBy?.walletId === walletId && !found.end);
  }

  /** Releases it unless it is still in flight. */
  async function settle(place: WalletPlace, move: AdmittedMove, deadlineMs: number): Promise<void> {
    const { moveId, moveOwnerId, revision } = move;
    const found = await moves.trace({ environment: place.environment, ownerId: moveOwnerId, moveId });
    const isOurs = found?.order.admittedBy?.walletId === place.walletId;
    // The first move under this key was another wallet's, or it went without being admitted.
    const cause = isOurs ? found?.end : found?.requested;
    if (!cause) return;
    const stream = walletStreamName(place);
    const context = causedBy(cause, stream, deadlineMs);
    const eventIds = { parts: [stream, cause.id], first: revision };
    await handler.execute(wallet, stream, { type: 'ReleaseMove', moveId }, { ...context, eventIds });
    failPoint('move.released');
  }
}
