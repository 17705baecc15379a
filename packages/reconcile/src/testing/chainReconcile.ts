/** Compares with the chain as an operator does, and forges the data compared. For specs. */
import { randomUUID } from 'node:crypto';
import { defineContext } from '@coffer/host';
import { requireStatus, startContexts } from '@coffer/host/testing';
import { encodeMetadata, newId } from '@coffer/kernel';
import { ledgerContext } from '@coffer/ledger';
import { type MoveEvent, moveEvents, moveStreamName, treasuryMovePlace } from '@coffer/moves';
import { type AppOnChain, type PlayerOnChain, startAppsOnChain } from '@coffer/treasury/testing';
import { WALLET_CONTEXTS, walletsGiven } from '@coffer/wallets/testing';
import { reconcileContext } from '../context.ts';

type Row = Readonly<Record<string, unknown>>;
interface ChainResult {
  readonly ok: boolean;
  readonly code?: string;
  readonly mode: string;
  readonly treasury: string;
  readonly currencies: readonly Row[];
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly examined: number }[];
  readonly warnings: readonly Row[];
  readonly unattributed: readonly Row[];
  readonly discrepancies: readonly Row[];
  readonly notCovered: readonly Row[];
}
export interface ChainedResult {
  readonly ok: boolean;
  readonly code?: string;
  readonly chain: ChainResult;
}

export type ReconciledOnChain = Awaited<ReturnType<typeof startReconciledOnChain>>;

const installation = defineContext({
  name: 'installation',
  create: () => ({
    provides: {
      scrubPassMs: 1_000,
      // The ends of moves are looked up when a spec asks, and its node does not lag behind.
      chainReconciling: { bearOutEveryMs: 24 * 60 * 60 * 1000, againAfterMs: 10 },
    },
  }),
});
const RECONCILED_ON_CHAIN = WALLET_CONTEXTS.with(ledgerContext).with(installation).with(reconcileContext);

/** Money on a chain, the ledger and their reconciliation. */
export function startReconciledOnChain() {
  const { masterKeys } = walletsGiven();
  return startAppsOnChain(
    (chains) => startContexts({ contexts: RECONCILED_ON_CHAIN, given: walletsGiven({ chains, masterKeys }) }),
    { masterKeys },
  );
}

/** Called in a `describe`: one service for the whole suite, and for each test an app with a player. */
export function sceneOfReconciling() {
  let service: ReconciledOnChain;
  let app: AppOnChain;
  let player: PlayerOnChain;

  before(async () => {
    service = await startReconciledOnChain();
  });
  after(() => service.stop());
  beforeEach(async () => {
    app = await service.newApp();
    player = await app.newPlayer();
  });

  return {
    get service() {
      return service;
    },
    get app() {
      return app;
    },
    get player() {
      return player;
    },
    reconcile: (full = false) => reconcileApp(service, app, full),
    /** As somebody with write access to the log's database might. */
    forge: (moveId: string, ref: string, ...events: readonly MoveEvent[]) =>
      forge({ service, app }, moveId, ref, events),
    forgedMove: (ref: string, amount: bigint, operation?: 'deposit' | 'withdraw') =>
      forgedMoveOf({ app, player }, ref, amount, operation),
  };
}

async function reconcileApp(
  service: ReconciledOnChain,
  { appId }: AppOnChain,
  full: boolean,
): Promise<ChainedResult> {
  const path = `/portal/app/${appId}/test/reconcile`;
  const { text } = requireStatus(await service.world.client.post(path, { full, chain: true }), 200);
  return JSON.parse(text.trim().split('\n').at(-1) ?? '').result;
}

async function forge(
  { service, app }: { readonly service: ReconciledOnChain; readonly app: AppOnChain },
  moveId: string,
  ref: string,
  events: readonly MoveEvent[],
): Promise<void> {
  const place = { ...treasuryMovePlace('test', app.appId, ref), moveId };
  await service.world.store.append({
    stream: moveStreamName(place),
    expectedRevision: 'noStream',
    events: events.map((event) => {
      const { schemaVersion, ...stored } = moveEvents.encode(event);
      const metadata = { correlationId: 'forged', actor: 'service', occurredAt: new Date().toISOString() };
      return { id: randomUUID(), ...stored, metadata: encodeMetadata(metadata, schemaVersion) };
    }),
  });
}

function forgedMoveOf(
  { app, player }: { readonly app: AppOnChain; readonly player: PlayerOnChain },
  ref: string,
  amount: bigint,
  operation: 'deposit' | 'withdraw' = 'deposit',
) {
  const { moveId } = treasuryMovePlace('test', app.appId, ref);
  const subject = { operation, key: ref, appId: app.appId, userId: player.userId, currencyId: 1, amount };
  const [from, to] =
    operation === 'deposit' ? [player.address, app.treasury] : [app.treasury, player.address];
  const requested: MoveEvent = {
    type: 'MoveRequested',
    data: {
      moveId,
      ...subject,
      mint: 'native',
      decimals: 9,
      from: { walletId: newId('wlt'), ownerId: app.appId, address: from },
      toAddress: to,
      requestedAt: new Date().toISOString(),
    },
  };
  return { moveId, subject, requested };
}
