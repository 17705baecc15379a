/** The order of a cash-out, as the event that holds the funds keeps it. On disk for ever. */
import type { MoveOrder } from '@coffer/moves';
import { z } from 'zod';
import type { OpenedCashOutHold } from './funds.ts';

/** Beside the account and the amount, which the hold itself says: with these the whole order. */
interface HeldOrder extends Pick<MoveOrder, 'mint' | 'decimals' | 'from' | 'toAddress' | 'requestedAt'> {
  readonly ref: string;
}

export function heldRequestOf({ ref, mint, decimals, from, toAddress, requestedAt }: HeldOrder) {
  return {
    ref,
    mint,
    decimals: decimals.toString(),
    fromWalletId: from.walletId,
    fromOwnerId: from.ownerId,
    fromAddress: from.address,
    toAddress,
    requestedAt,
  };
}

const heldRequest = z.object({
  ref: z.string(),
  mint: z.string(),
  decimals: z
    .string()
    .regex(/^[0-9]{1,2}$/)
    .transform(Number),
  fromWalletId: z.string(),
  fromOwnerId: z.string(),
  fromAddress: z.string(),
  toAddress: z.string(),
  requestedAt: z.string(),
});

/** A pure function of the hold: whoever carries it out writes the same. */
export function orderOf({ account, amount, request }: OpenedCashOutHold): MoveOrder {
  const { ref, fromWalletId, fromOwnerId, fromAddress, ...rest } = heldRequest.parse(request);
  return {
    operation: 'cashOut',
    key: ref,
    appId: account.appId,
    userId: account.userId,
    currencyId: account.currencyId,
    amount,
    from: { walletId: fromWalletId, ownerId: fromOwnerId, address: fromAddress },
    ...rest,
  };
}
