/**
 * The part of admitted moves that is left to the process manager: requesting a move whose request died, and releasing
 * one that has ended.
 */
import { actDeadlineMs, type Reaction } from '@coffer/consumers';
import type { StreamEvent } from '@coffer/event-store';
import { parseStreamName } from '@coffer/kernel';
import { moveEvents, parseMoveStream } from '@coffer/moves';
import type { AdmittedMoves } from './admittedMoves.ts';
import { walletEvents } from './domain/wallet.events.ts';
import { wallet } from './domain/wallet.ts';
import { type WalletPlace, walletStreamName } from './domain/walletIds.ts';

/** No caller waits for a release: only this process makes sure of it, at once. */
const NOBODY_ELSE_MS = 0;
const ENDS = ['MoveConfirmed', 'MoveFailed'] as const;

export function admittedMoveReactions({ carryOut }: Pick<AdmittedMoves, 'carryOut'>): readonly Reaction[] {
  return [
    {
      name: 'requestAdmittedMove',
      causeOf: (event) => causeOf(walletMoveIn(event, 'WalletMoveAdmitted')),
      effectOf(event) {
        const found = walletMoveIn(event, 'WalletMoveReleased') ?? admittedMoveIn(event, ['MoveRequested']);
        return found && keyOf(found);
      },
      act: (cause) => carryOut.request(cause, actDeadlineMs()),
    },
    {
      name: 'releaseEndedMove',
      graceMs: NOBODY_ELSE_MS,
      causeOf: (event) => causeOf(admittedMoveIn(event, ENDS)),
      effectOf(event) {
        const released = walletMoveIn(event, 'WalletMoveReleased');
        return released && keyOf(released);
      },
      async act(cause) {
        const ended = admittedMoveIn(cause, ENDS);
        if (ended) await carryOut.release(ended.place, ended.moveId, actDeadlineMs());
      },
    },
  ];
}

interface MoveOfWallet {
  readonly place: WalletPlace;
  readonly moveId: string;
}

const keyOf = ({ place, moveId }: MoveOfWallet): string => `${walletStreamName(place)} ${moveId}`;

/** In order by wallet, since one stream decides the releases of one wallet. */
const causeOf = (found: MoveOfWallet | undefined) =>
  found && { key: keyOf(found), target: walletStreamName(found.place) };

/**
 * What the wallet's event says of a move. Most events in the log have nothing to do with moves, so the type is checked
 * first.
 */
function walletMoveIn(
  event: StreamEvent,
  type: 'WalletMoveAdmitted' | 'WalletMoveReleased',
): MoveOfWallet | undefined {
  if (event.type !== type) return undefined;
  const parts = parseStreamName(event.stream);
  if (parts?.category !== wallet.category) return undefined;
  const decoded = walletEvents.decode(event);
  if (decoded.type !== 'WalletMoveAdmitted' && decoded.type !== 'WalletMoveReleased') return undefined;
  const { walletId, moveId } = decoded.data;
  return { place: { environment: parts.environment, ownerId: parts.owner, walletId }, moveId };
}

/** The move according to its own event, with the wallet that admitted it; undefined where none did. */
function admittedMoveIn(
  event: StreamEvent,
  types: readonly ('MoveRequested' | 'MoveConfirmed' | 'MoveFailed')[],
): MoveOfWallet | undefined {
  if (!types.some((type) => type === event.type)) return undefined;
  const place = parseMoveStream(event.stream);
  if (!place) return undefined;
  const decoded = moveEvents.decode(event);
  if (!('admittedBy' in decoded.data) || !decoded.data.admittedBy) return undefined;
  return {
    place: { environment: place.environment, ...decoded.data.admittedBy },
    moveId: place.moveId,
  };
}
