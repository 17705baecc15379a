/** The chain as a child process: whatever happens in its native code, the service survives. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EmbeddedChainOptions } from './embeddedChain.ts';

export type ChainProcessOptions = Omit<
  EmbeddedChainOptions,
  'onError' | 'onBroken' | 'folder' | 'faultObserver'
> & {
  readonly folder: string;
};

export type ParentMessage =
  | { readonly kind: 'start'; readonly options: ChainProcessOptions }
  | { readonly kind: 'stop' };
export type ChildMessage =
  | {
      readonly kind: 'ready';
      readonly url: string;
      readonly faucetAddress: string;
      readonly genesisHash: string;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly takenPort?: number | undefined };

export interface ChainProcess {
  readonly url: string;
  readonly faucetAddress: string;
  readonly genesisHash: string;
  readonly pid: number;
  /** Resolves once the process is gone, with its last output, even if nobody asked it to stop. */
  readonly exited: Promise<ChainExit>;
  /** What was accepted is kept. Resolves once the process is gone. */
  readonly stop: () => Promise<void>;
}

export interface ChainExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
const KEPT_OUTPUT_CHARACTERS = 4_000;
const STOP_LIMIT_MS = 10_000;
/** The service's own settings hold secrets that the chain has no use for. */
const ENVIRONMENT: readonly string[] = [
  'HOME',
  'LANG',
  'LD_LIBRARY_PATH',
  'NODE_COMPILE_CACHE',
  'PATH',
  'TMPDIR',
];

export class EmbeddedChainError extends Error {
  override readonly name = 'EmbeddedChainError';
  /** A port that it needs and on which somebody else listens. */
  readonly takenPort: number | undefined;

  constructor(reason: string, takenPort: number | undefined) {
    super(`The embedded chain could not start: ${reason}`);
    this.takenPort = takenPort;
  }
}

export async function startEmbeddedChain(options: ChainProcessOptions): Promise<ChainProcess> {
  // As many helpers of V8 as there are cores beside one: with Node's four, its collections hold up the service.
  const child = spawn(process.execPath, ['--v8-pool-size=0', MAIN], {
    // Its own session: Ctrl-C in a terminal reaches the service, and the service stops the chain.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
    ),
  });
  const exited = exitOf(child);
  const ready = await startedBy(child, options, exited);
  // A chain that has just ended cannot be told; unhandled, that failure would end this process.
  const tell = (message: ParentMessage) => child.connected && child.send(message, () => undefined);
  return {
    url: ready.url,
    faucetAddress: ready.faucetAddress,
    genesisHash: ready.genesisHash,
    pid: child.pid ?? 0,
    exited,
    async stop() {
      tell({ kind: 'stop' });
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

async function exitOf(child: ChildProcess): Promise<ChainExit> {
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(-KEPT_OUTPUT_CHARACTERS);
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, output: output.trim() };
}

async function startedBy(child: ChildProcess, options: ChainProcessOptions, exited: Promise<ChainExit>) {
  const start: ParentMessage = { kind: 'start', options };
  const { promise: said, resolve, reject } = Promise.withResolvers<ChildMessage>();
  child.once('message', resolve);
  child.once('error', reject);
  child.send(start, (error) => error && reject(error));
  const gone = exited.then(
    (exit): ChildMessage => ({
      kind: 'failed',
      reason: exit.output || `its process ended with ${exit.signal ?? exit.code}`,
    }),
  );
  const message = await Promise.race([said, gone]);
  if (message.kind === 'ready') return message;
  await exited;
  throw new EmbeddedChainError(message.reason, message.takenPort);
}
