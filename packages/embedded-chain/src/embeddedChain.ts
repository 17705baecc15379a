/** The chain and its server in this process: for specs, and for the child process that the service starts. */
import { createServer } from 'node:http';
import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import { type ChainFolder, openChainFolder } from './chainFolder.ts';
import type { Faucet } from './faucet.ts';
import { createFaults, type FaultObserver, type Faults } from './faults.ts';
import { createLedger, type Finality, type Ledger } from './ledger/ledger.ts';
import { slotsByHand, slotsOfClock } from './ledger/slots.ts';
import type { Store } from './ledger/store.ts';
import type { RpcContext } from './rpc/context.ts';
import { controlMethods, type ForkOptions } from './rpc/controlMethods.ts';
import { createHttpServer } from './rpc/httpServer.ts';
import { closed, listenPair } from './rpc/listen.ts';
import { createRpc, METHODS } from './rpc/rpc.ts';
import { createSubscriptions } from './rpc/subscriptions.ts';
import { newMintData, TOKEN_PROGRAM } from './tokens.ts';
import { createVm, type Vm } from './vm.ts';
import { readTransaction } from './wire.ts';

interface MintOptions {
  readonly address: string;
  readonly decimals: number;
}

export interface EmbeddedChainOptions {
  /** Created if missing. Without one, nothing is kept. */
  readonly folder?: string | undefined;
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default: any free port. Subscriptions are at the next port. */
  readonly port?: number | undefined;
  /** Mints of the faucet; created if missing. */
  readonly mints?: readonly MintOptions[] | undefined;
  /** Default: 400; `byHand` advances only by `advance`. */
  readonly slotMs?: number | 'byHand' | undefined;
  readonly finality?: Finality | undefined;
  /** With it, specs may ask for faults over HTTP. */
  readonly controlToken?: string | undefined;
  /** Observes the faults in this process. */
  readonly faultObserver?: FaultObserver | undefined;
  /** Nothing can be stored any longer: the owner should end the chain. Called once. */
  readonly onBroken?: ((error: unknown) => void) | undefined;
  readonly onError?: ((error: unknown, where: string) => void) | undefined;
}

export interface EmbeddedChain {
  /** The RPC's URL. */
  readonly url: string;
  readonly faucetAddress: string;
  readonly genesisHash: string;
  /** Advances the slots; only if they are advanced by hand. */
  readonly advance: (slots: number) => void;
  /** Takes back the newest slots, unless they are final. Returns how many transactions were in them. */
  readonly fork: (fork: ForkOptions) => number;
  readonly faults: Pick<Faults, 'inject' | 'clear'>;
  /** Creates a mint of the faucet unless it exists. */
  readonly ensureMint: (mint: MintOptions) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const DEFAULT_SLOT_MS = 400;
/** Shorter than a cluster's 32 slots: nobody should wait 13 seconds for a local chain. */
const DEFAULT_FINALITY: Finality = { confirmedAfter: 2, finalizedAfter: 8 };
const FAUCET_LAMPORTS = 500_000_000_000_000_000n;
const SYSTEM_PROGRAM = '1'.repeat(32);

export async function createEmbeddedChain(options: EmbeddedChainOptions): Promise<EmbeddedChain> {
  const folder = openChainFolder(options.folder, options.onBroken ?? (() => undefined));
  try {
    return await serve(folder, options);
  } catch (error) {
    folder.close();
    throw error;
  }
}

async function serve(folder: ChainFolder, options: EmbeddedChainOptions): Promise<EmbeddedChain> {
  const { host = '127.0.0.1', port = 0, finality = DEFAULT_FINALITY, onError = () => undefined } = options;
  const { store, genesis, faucet } = folder;
  const vm = createVm();
  loadAccounts(store, vm);

  const slotMs = options.slotMs === 'byHand' ? undefined : (options.slotMs ?? DEFAULT_SLOT_MS);
  const start = folder.startSlot(slotMs);
  const byHand = slotMs === undefined ? slotsByHand(start) : undefined;
  const slots = byHand ?? slotsOfClock(start, slotMs ?? DEFAULT_SLOT_MS);
  const ledger = createLedger({
    store,
    vm,
    slots: folder.noting(slots),
    slotMs: slotMs ?? 0,
    finality,
    genesis,
  });
  store.keepMark({ slot: start, atMs: Date.now() });
  fundFaucet(ledger, faucet);
  const ensureMint = (mint: MintOptions) => makeMint(ledger, faucet, mint);
  for (const mint of options.mints ?? []) await ensureMint(mint);
  await ledger.durable();

  const genesisHash = encodeBase58(genesis);
  const faults = createFaults(ledger, options.faultObserver);
  const shownHost = host.includes(':') ? `[${host}]` : host;
  let bound = 0;
  const listensAt = () => ({ rpc: `${shownHost}:${bound}`, pubsub: `${shownHost}:${bound + 1}` });
  const context: RpcContext = { ledger, faucet, ensureMint, genesisHash, listensAt, faults };
  const subscriptions = createSubscriptions(context, (slotMs ?? DEFAULT_SLOT_MS) / 2);
  const advance = (count: number) => {
    if (!byHand) throw new Error('the slots follow the clock');
    byHand.advance(count);
    ledger.tip();
    subscriptions.look();
  };
  const fork = ({ slots: count, landAgainAfter }: ForkOptions) => {
    const tip = ledger.tip();
    const dropped = ledger.fork(tip - BigInt(count) + 1n);
    subscriptions.forked();
    for (const bytes of dropped) {
      if (landAgainAfter) ledger.landLater(readTransaction(bytes), tip + BigInt(landAgainAfter));
    }
    return dropped.length;
  };

  const control = options.controlToken && {
    token: options.controlToken,
    rpc: createRpc({ context, methods: controlMethods({ advance, fork }), onError }),
  };
  const server = createHttpServer({
    rpc: createRpc({ context, methods: METHODS, onError }),
    faults,
    control: control || undefined,
    onError: (error) => onError(error, 'http'),
  });
  const socketServer = createServer((_request, response) => response.writeHead(426).end());
  subscriptions.serve(server);
  subscriptions.serve(socketServer);
  bound = await listenPair(server, socketServer, host, port);

  return {
    url: `http://${shownHost}:${bound}`,
    faucetAddress: faucet.address,
    genesisHash,
    advance,
    fork,
    faults,
    ensureMint,
    async stop() {
      subscriptions.close();
      for (const each of [server, socketServer]) {
        each.closeAllConnections();
        await closed(each);
      }
      folder.close();
    },
  };
}

/** Programs last: the machine reads the accounts they consist of when they are set. */
function loadAccounts(store: Store, vm: Vm): void {
  const programs = [];
  for (const [address, state] of store.accounts()) {
    if (state.executable) programs.push({ address, state });
    else vm.setAccount(address, state);
  }
  for (const { address, state } of programs) vm.setAccount(address, state);
}

function fundFaucet(ledger: Ledger, faucet: Faucet): void {
  const state = {
    lamports: FAUCET_LAMPORTS,
    owner: SYSTEM_PROGRAM,
    data: new Uint8Array(),
    executable: false,
  };
  ledger.ensureAccount(faucet.address, state);
}

async function makeMint(ledger: Ledger, faucet: Faucet, { address, decimals }: MintOptions): Promise<void> {
  if (!decodeBase58Address(address)) throw new TypeError(`${address} is not an address`);
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
    throw new RangeError(`a mint cannot have ${decimals} decimals`);
  }
  const data = newMintData(faucet.publicKey, decimals);
  const lamports = ledger.rentMinimum(data.length);
  ledger.ensureAccount(address, { lamports, owner: TOKEN_PROGRAM, data, executable: false });
  await ledger.durable();
}
