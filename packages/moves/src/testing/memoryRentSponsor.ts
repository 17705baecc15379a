/** Accounts that apps pay for, counted in memory, all on one day. */
import type { RentSponsor, SponsoredMove } from '../rent.ts';

export interface MemoryRentSponsor extends RentSponsor {
  /** The accounts counted now. */
  readonly counted: () => readonly SponsoredMove[];
  readonly caps: { perUser: number; perApp: number };
}

export function memoryRentSponsor({ perUser = 2, perApp = 500 } = {}): MemoryRentSponsor {
  const rows = new Map<string, { readonly move: SponsoredMove; isSpent: boolean; requests: number }>();
  const caps = { perUser, perApp };

  const count = async (move: SponsoredMove, isSpent: boolean): Promise<boolean> => {
    const known = rows.get(move.moveId);
    if (known) {
      known.isSpent ||= isSpent;
      if (!isSpent) known.requests += 1;
      return true;
    }
    const { appId, environment, userId } = move;
    const ofApp = counted().filter((one) => one.appId === appId && one.environment === environment);
    const ofUser = ofApp.filter((one) => one.userId === userId);
    if (ofUser.length >= caps.perUser || ofApp.length >= caps.perApp) return false;
    rows.set(move.moveId, { move, isSpent, requests: 1 });
    return true;
  };
  const counted = () => [...rows.values()].map(({ move }) => move);

  return {
    caps,
    counted,
    reserve: (move) => count(move, false),
    spend: (move) => count(move, true),
    async release(moveId) {
      const known = rows.get(moveId);
      if (!known) return;
      known.requests -= 1;
      if (known.requests <= 0 && !known.isSpent) rows.delete(moveId);
    },
  };
}
