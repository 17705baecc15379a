/**
 * What the process manager finishes of moves that wallets have admitted: one whose request died is requested, and one
 * that has ended is released.
 */
import { actDeadlineMs, type Reaction } from '@coffer/consumers';
import type { StreamEvent } from '@coffer/event-store';
import { parseStreamName } from '@coffer/kernel';
import { moveEvents, parseMoveStream } from '@coffer/moves';
import type { AdmittedMoves } from './admittedMoves.ts';
import { walletEvents } from './domain/wallet.events.ts';
import { wallet } from './domain/wallet.ts';
import { type WalletPlace, walletStreamName } from './domain/walletIds.ts';

/** Nobody waits for a release: the process alone sees to it, and at once. */
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

/** In order by wallet: releases of one wallet are decided by one stream. */
const causeOf = (found: MoveOfWallet | undefined) =>
  found && { key: keyOf(found), target: walletStreamName(found.place) };

/** What the wallet's event says of a move. Most events of the log are none of these: the type is looked at first. */
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

/** What the move's event says of the wallet that has admitted it; undefined where none has. */
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
