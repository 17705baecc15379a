/** The order of a cash-out, as recorded in the event that holds the funds. On disk for ever. */
import type { OpenedHold } from '@coffer/accounts';
import type { MoveOrder } from '@coffer/moves';
import { z } from 'zod';

/** With the account and the amount, which are in the hold itself, this is the whole order. */
interface HeldOrder
  extends Pick<MoveOrder, 'mint' | 'decimals' | 'from' | 'toAddress' | 'requestedAt' | 'admittedBy'> {
  readonly ref: string;
}

export function heldRequestOf(order: HeldOrder) {
  const { ref, mint, decimals, from, toAddress, requestedAt, admittedBy } = order;
  return {
    ref,
    mint,
    decimals: decimals.toString(),
    fromWalletId: from.walletId,
    fromOwnerId: from.ownerId,
    fromAddress: from.address,
    toAddress,
    requestedAt,
    ...(admittedBy && { toWalletId: admittedBy.walletId, toOwnerId: admittedBy.ownerId }),
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
  /** Absent in holds from a release that did not ask the wallet. */
  toWalletId: z.string().optional(),
  toOwnerId: z.string().optional(),
});

/** A pure function of the hold: whoever carries it out writes the same. */
export function orderOf({ account, amount, request }: OpenedHold): MoveOrder {
  const { ref, fromWalletId, fromOwnerId, fromAddress, toWalletId, toOwnerId, ...rest } =
    heldRequest.parse(request);
  return {
    operation: 'cashOut',
    key: ref,
    appId: account.appId,
    userId: account.userId,
    currencyId: account.currencyId,
    amount,
    from: { walletId: fromWalletId, ownerId: fromOwnerId, address: fromAddress },
    ...rest,
    ...(toWalletId && toOwnerId && { admittedBy: { walletId: toWalletId, ownerId: toOwnerId } }),
  };
}
