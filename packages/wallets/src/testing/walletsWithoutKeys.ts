/** Wallets without keys, on whatever store a spec provides: for specs of what their moves lead to. */
import { type CommandContext, type CommandHandler, type EventStore, requestedBy } from '@coffer/event-store';
import type { Clock, FailPoint } from '@coffer/kernel';
import { createMoves } from '@coffer/moves';
import { admittedMoveReactions } from '../admittedMoves.reactions.ts';
import { createAdmittedMoves } from '../admittedMoves.ts';
import { type WalletCommand, wallet } from '../domain/wallet.ts';
import { type WalletPlace, walletStreamName } from '../domain/walletIds.ts';

type Context = Parameters<typeof requestedBy>[0];

export function walletsWithoutKeys({
  handler,
  store,
  clock,
  failPoint,
}: {
  readonly handler: CommandHandler;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
}) {
  const moves = createAdmittedMoves({
    moves: createMoves({ handler, store }),
    handler,
    store,
    failPoint,
    formerMovesOf: async () => [],
  });
  const execute = (place: WalletPlace, command: WalletCommand, context: Context) =>
    handler.execute(wallet, walletStreamName(place), command, requestedBy(context, clock().toISOString()));
  return {
    moves,
    reactions: admittedMoveReactions(moves),
    stateOf: (place: WalletPlace, context: Pick<CommandContext, 'deadlineMs'>) =>
      handler.load(wallet, walletStreamName(place), context),
    async provision(
      place: WalletPlace,
      given: { readonly userId: string; readonly address: string },
      context: Context,
    ): Promise<void> {
      const { walletId } = place;
      await execute(
        place,
        { type: 'ProvisionWallet', walletId, ...given, generation: 1, at: clock() },
        context,
      );
    },
    /** Its user takes the key: here no next wallet follows. */
    async exportKey(place: WalletPlace, context: Context): Promise<void> {
      await moves.releaseEnded(place, context);
      await execute(
        place,
        {
          type: 'ExportWallet',
          idempotencyKey: 'mine',
          recipientPublicKey: null,
          newWalletId: 'wlt_next',
          newAddress: 'address-next',
          at: clock(),
        },
        context,
      );
    },
  };
}
