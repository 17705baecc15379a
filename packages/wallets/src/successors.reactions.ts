/**
 * The part of the end of a wallet that is left to the process manager: if the request died after it, the user still
 * gets the next wallet.
 */
import { actDeadlineMs, type Reaction } from '@coffer/consumers';
import { causedBy, type RecordedEvent } from '@coffer/event-store';
import { parseStreamName, type UserPlace } from '@coffer/kernel';
import { walletEvents } from './domain/wallet.events.ts';
import { wallet } from './domain/wallet.ts';
import { walletStreamName } from './domain/walletIds.ts';
import type { Wallets } from './wallets.ts';

export function provisionsSuccessors({ provision }: Pick<Wallets, 'provision'>): Reaction {
  return {
    name: 'provisionSuccessor',
    causeOf(event) {
      const ended = endedIn(event);
      return ended && { key: ended.newWalletId, target: event.stream };
    },
    effectOf(event) {
      if (event.type !== 'WalletProvisioned') return undefined;
      const provisioned = walletEvents.decode(event);
      return provisioned.data.walletId;
    },
    async act(cause) {
      const ended = endedIn(cause);
      if (!ended) return;
      const { owner, newWalletId } = ended;
      const { environment, scopeId: ownerId } = owner;
      const stream = walletStreamName({ environment, ownerId, walletId: newWalletId });
      await provision(owner, causedBy(cause, stream, actDeadlineMs()));
    },
  };
}

function endedIn(
  event: RecordedEvent,
): { readonly owner: UserPlace; readonly newWalletId: string } | undefined {
  if (event.type !== 'WalletExported' && event.type !== 'WalletMigrated') return undefined;
  const ended = walletEvents.decode(event);
  const parts = parseStreamName(event.stream);
  if (parts?.category !== wallet.category) return undefined;
  if (ended.type !== 'WalletExported' && ended.type !== 'WalletMigrated') return undefined;
  const { environment, owner: scopeId } = parts;
  const { userId, newWalletId } = ended.data;
  return { owner: { environment, scopeId, userId }, newWalletId };
}
