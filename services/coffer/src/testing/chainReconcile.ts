/** Compares with the chain as an operator does, and forges the data compared. For specs. */
import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { openStoreOf, requireStatus } from '@coffer/host/testing';
import { encodeMetadata, newId } from '@coffer/kernel';
import { type MoveEvent, moveEvents, moveStreamName, treasuryMovePlace } from '@coffer/moves';
import { runProgram } from '../cli/program.ts';
import {
  type AppOnChain,
  type PlayerOnChain,
  type ServiceOnChain,
  startServiceOnChain,
} from './chainWorld.ts';

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

/** Called in a `describe`: one service for the whole suite, and for each test an app with a player. */
export function sceneOfReconciling() {
  let service: ServiceOnChain;
  let app: AppOnChain;
  let player: PlayerOnChain;

  before(async () => {
    service = await startServiceOnChain();
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
    coffer: (...argv: readonly string[]) => runCoffer(service, argv),
    /** As somebody with write access to the log's database might. */
    forge: (moveId: string, ref: string, ...events: readonly MoveEvent[]) =>
      forge({ service, app }, moveId, ref, events),
    forgedMove: (ref: string, amount: bigint, operation?: 'deposit' | 'withdraw') =>
      forgedMoveOf({ app, player }, ref, amount, operation),
  };
}

async function reconcileApp(
  service: ServiceOnChain,
  { appId }: AppOnChain,
  full: boolean,
): Promise<ChainedResult> {
  const path = `/portal/app/${appId}/test/reconcile`;
  const { text } = requireStatus(await service.world.client.post(path, { full, chain: true }), 200);
  return JSON.parse(text.trim().split('\n').at(-1) ?? '').result;
}

async function runCoffer({ world }: ServiceOnChain, argv: readonly string[]) {
  let printed = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      printed += chunk;
      done();
    },
  });
  const variables = { COFFER_URL: world.url, COFFER_OPERATOR_TOKEN: world.operatorToken };
  const surroundings = { variables, workingFolder: '.', stdout: sink, stderr: sink };
  const exitCode = await runProgram(argv, surroundings, () => {
    throw new Error('Nobody runs the service.');
  });
  return { exitCode, printed };
}

async function forge(
  { service, app }: { readonly service: ServiceOnChain; readonly app: AppOnChain },
  moveId: string,
  ref: string,
  events: readonly MoveEvent[],
): Promise<void> {
  const place = { ...treasuryMovePlace('test', app.appId, ref), moveId };
  const store = await openStoreOf(service.world.databaseUrl);
  await store.append({
    stream: moveStreamName(place),
    expectedRevision: 'noStream',
    events: events.map((event) => {
      const { schemaVersion, ...stored } = moveEvents.encode(event);
      const metadata = { correlationId: 'forged', actor: 'service', occurredAt: new Date().toISOString() };
      return { id: randomUUID(), ...stored, metadata: encodeMetadata(metadata, schemaVersion) };
    }),
  });
  await store.close();
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
