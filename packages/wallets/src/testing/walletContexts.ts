/** All contexts that money on a chain needs, for specs: without play and reconciliation. */
import { randomBytes } from 'node:crypto';
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { authContext } from '@coffer/auth';
import { chainWorkerContext, rentContext } from '@coffer/chain-worker';
import { contexts } from '@coffer/host';
import type { Environment } from '@coffer/kernel';
import { chainContext, type MovePolicy, movesContext } from '@coffer/moves';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { type OpenChains, openChains } from '@coffer/solana';
import { treasuryContext } from '@coffer/treasury';
import { usersContext } from '@coffer/users';
import { walletsContext } from '../context.ts';
import { createMasterKeys, type MasterKey, type MasterKeys } from '../masterKeys.ts';
import { firstKeys } from './walletProcesses.ts';

export interface WalletsGiven extends PortalGiven {
  readonly chains: OpenChains;
  readonly fundFeePayer: OpenChains['fundFeePayer'];
  readonly movePolicy: Partial<MovePolicy>;
  readonly feePayerLowLamports: bigint;
  readonly masterKeys: MasterKeys;
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
  readonly identityKey: Uint8Array;
  readonly mail: undefined;
}

export const WALLET_CONTEXTS = contexts<WalletsGiven>()
  .with(chainContext)
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(movesContext)
  .with(rentContext)
  .with(walletsContext)
  .with(authContext)
  .with(treasuryContext)
  .with(chainWorkerContext);

const identityKey = randomBytes(32);
/** As fast as the chain worker can be. */
const EAGER = { pollIntervalMs: 20, resendIntervalMs: 40, lossCheckIntervalMs: 200, firstRetryMs: 20 };

/** Without a chain unless one is given. */
export function walletsGiven({
  chains = openChains({ test: undefined, live: undefined }),
  masterKeys = createMasterKeys(firstKeys()),
}: Partial<Pick<WalletsGiven, 'chains' | 'masterKeys'>> = {}): WalletsGiven {
  return {
    acceptsLoopback: false,
    mints: { ensure: chains.ensureMint, checkOn: chains.mintCheck, errors: ['chain/unreachable'] },
    chains,
    fundFeePayer: chains.fundFeePayer,
    movePolicy: EAGER,
    feePayerLowLamports: 0n,
    masterKeys,
    makeNextMasterKey: undefined,
    identityKey,
    mail: undefined,
  };
}
