/**
 * Who pays for the token account that a transfer makes for its recipient: the player's own wallet where it holds the
 * SOL, else the app, within its caps of a day. Source: docs/adr/0024-rent.md.
 */
import { type Environment, Rejection } from '@coffer/kernel';
import { type Address, type Chain, canSpare, type TransferPlan } from '@coffer/solana';
import type { MoveOrder } from './types.ts';

/** A move that makes an account, and on whose day it counts. */
export interface SponsoredMove {
  readonly moveId: string;
  readonly appId: string;
  readonly environment: Environment;
  readonly userId: string;
}

/** Accounts that apps pay for, counted durably, each move once however often it is asked for. */
export interface RentSponsor {
  /** Counts the account of a move that is about to be requested. False where that would pass a cap. */
  readonly reserve: (move: SponsoredMove) => Promise<boolean>;
  /** Of a move that is about to be signed, reserved or not: counted for good. False where that would pass a cap. */
  readonly spend: (move: SponsoredMove) => Promise<boolean>;
  /** Of a move whose request was refused: what was reserved and not spent is counted no more. */
  readonly release: (moveId: string) => Promise<void>;
}

/**
 * The treasury's account of a currency, which is made once and which nobody closes, and what an operator sends after a
 * player in the app's own currencies. Neither is in a player's hand.
 */
export const isRentOfApp = ({ operation, currencyId }: Pick<MoveOrder, 'operation' | 'currencyId'>) =>
  operation === 'deposit' || (operation === 'sweep' && currencyId !== null);

/** Keeps what `keep` keeps only if somebody pays the rent. Throws `wallets/rent_not_sponsored`. */
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
