/**
 * Who pays for the token account that a transfer creates for its recipient: the player's own wallet if it has the SOL,
 * otherwise the app, within its daily caps. Source: docs/adr/0024-rent.md.
 */
import { type Environment, Rejection } from '@coffer/kernel';
import { type Address, type Chain, canSpare, type TransferPlan } from '@coffer/solana';
import type { MoveOrder } from './types.ts';

/** A move that creates an account, and the day on which it counts. */
export interface SponsoredMove {
  readonly moveId: string;
  readonly appId: string;
  readonly environment: Environment;
  readonly userId: string;
}

/** Accounts that apps pay for, counted durably; each move counts once, however often it is asked for. */
export interface RentSponsor {
  /** Counts the account of a move that is about to be requested. False if that would exceed a cap. */
  readonly reserve: (move: SponsoredMove) => Promise<boolean>;
  /** For a move about to be signed, reserved or not: counts for good. False if that would exceed a cap. */
  readonly spend: (move: SponsoredMove) => Promise<boolean>;
  /**
   * For a request that reserved and was refused: what is not spent no longer counts, unless another request of the same
   * move has reserved it as well.
   */
  readonly release: (moveId: string) => Promise<void>;
}

/**
 * The treasury's account of a currency, which is created once and which nobody closes, and what an operator forwards for
 * a player in the app's own currencies. Players control neither.
 */
export const isRentOfApp = ({ operation, currencyId }: Pick<MoveOrder, 'operation' | 'currencyId'>) =>
  operation === 'deposit' || (operation === 'sweep' && currencyId !== null);

/** Runs `keep` only if somebody pays the rent. Throws `wallets/rent_not_sponsored`. */
export async function withRentPaid<Kept>(
  { chain, sponsor }: { readonly chain: Chain; readonly sponsor: RentSponsor },
  move: SponsoredMove & {
    readonly plan: Extract<TransferPlan, { outcome: 'possible' }>;
    /** The player's. */
    readonly wallet: Address;
  },
  keep: () => Promise<Kept>,
): Promise<Kept> {
  const { plan, wallet } = move;
  if (!plan.createsAccount || (await canSpare(chain, wallet, plan.rent))) return keep();

  if (!(await sponsor.reserve(move))) {
    throw new Rejection('wallets/rent_not_sponsored', { lamports: plan.rent });
  }
  try {
    return await keep();
  } catch (error) {
    if (error instanceof Rejection) await sponsor.release(move.moveId);
    throw error;
  }
}
