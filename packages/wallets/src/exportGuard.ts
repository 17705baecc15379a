/** Whether a wallet may be exported now, and if not, why. Source: contract, Wallets (export preflight). */
import type { Deadline } from '@coffer/event-store';
import type { SessionCaller } from '@coffer/http';
import type { Clock, Environment } from '@coffer/kernel';
import type { Currency } from '@coffer/portal';
import type { Chain } from '@coffer/solana';
import type { WalletPlace } from './domain/walletIds.ts';
import { reject } from './errors.ts';
import { isRecent, reauthenticationRequired } from './recentSignIn.ts';
import type { ExportPreflight, WalletView } from './wallet.resource.ts';

type ExportObstacle = ExportPreflight['reasons'][number];
/** How much of a currency the wallet is required to hold, and how much it holds. */
type Floor = ExportPreflight['floor'][number];
type Caller = Pick<SessionCaller, 'appId' | 'scopeId' | 'environment' | 'authenticatedAt'>;
export interface ExportGuard {
  readonly look: (caller: Caller, wallet: WalletView, deadline: Deadline) => Promise<ExportPreflight>;
  /** Throws `auth/reauthentication_required`, `wallets/export_not_allowed`. */
  readonly requireAllowed: (caller: Caller, wallet: WalletView, deadline: Deadline) => Promise<void>;
}

type AppPlace = Pick<Caller, 'appId' | 'environment'>;

export interface ExportGuardOptions {
  readonly clock: Clock;
  /** How recent the sign-in must be. */
  readonly stepUpSeconds: (place: AppPlace) => Promise<number> | number;
  /** By currency code. */
  readonly exportFloor: (
    place: AppPlace,
  ) => Promise<Readonly<Record<string, bigint>>> | Readonly<Record<string, bigint>>;
  readonly currencies: (appId: string) => Promise<readonly Currency[]> | readonly Currency[];
  /** Whether there is a move from or to the wallet that has not ended. The wallet's stream decides on later ones. */
  readonly hasMovesInFlight: (place: WalletPlace, deadline: Deadline) => Promise<boolean>;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: Environment) => Chain;
}

export function createExportGuard(options: ExportGuardOptions): ExportGuard {
  const { clock, stepUpSeconds, exportFloor, currencies, hasMovesInFlight, chainOf } = options;

  return {
    look,
    async requireAllowed(caller, wallet, deadline) {
      const { reasons, floor } = await look(caller, wallet, deadline);
      if (reasons.includes('reauthentication_required')) {
        throw reauthenticationRequired(await stepUpSeconds(caller));
      }
      if (reasons.length > 0) throw reject('wallets/export_not_allowed', { reasons, floor });
    },
  };

  async function look(caller: Caller, wallet: WalletView, deadline: Deadline): Promise<ExportPreflight> {
    const { environment, scopeId: ownerId } = caller;
    const [seconds, floor, moving] = await Promise.all([
      stepUpSeconds(caller),
      floorOf(caller, wallet),
      hasMovesInFlight({ environment, ownerId, walletId: wallet.id }, deadline),
    ]);
    const reasons: ExportObstacle[] = [];
    if (floor.some(({ minimum, balance }) => balance < minimum)) reasons.push('below_floor');
    if (moving) reasons.push('moves_in_flight');
    if (!isRecent(caller, seconds, clock)) reasons.push('reauthentication_required');
    return { allowed: reasons.length === 0, reasons, floor };
  }

  async function floorOf(caller: Caller, { address, environment }: WalletView): Promise<readonly Floor[]> {
    const wanted = Object.entries(await exportFloor(caller));
    if (wanted.length === 0) return [];
    const chain = chainOf(environment);
    const [known, [account], tokens] = await Promise.all([
      currencies(caller.appId),
      chain.accounts([address], 'confirmed'),
      chain.tokenAccountsOf(address, 'confirmed'),
    ]);
    return wanted.flatMap(([currency, minimum]) => {
      const mint = known.find(({ code }) => code === currency)?.mint[environment];
      // A floor for both environments may name a currency that only one of them has on its chain.
      if (!mint) return [];
      const ofMint = tokens.filter((token) => token.mint === mint);
      const balance =
        mint === 'native' ? (account?.lamports ?? 0n) : ofMint.reduce((sum, { amount }) => sum + amount, 0n);
      return [{ currency, minimum, balance }];
    });
  }
}
