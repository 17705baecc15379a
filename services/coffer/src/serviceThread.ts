/**
 * A thread that runs some roles of this service, with a heap and an event loop of its own: neither its work nor its
 * collections hold up the API. It ends with the process, whatever ends that.
 */
import { setFlagsFromString } from 'node:v8';
import { type MessagePort, type TransferListItem, Worker } from 'node:worker_threads';
import type { ApiThreads, Role } from '@coffer/host';
import type { MetricFigures, RateLimitName } from '@coffer/http';
import type { Environment } from '@coffer/kernel';
import type { MasterKey } from '@coffer/wallets';
import { CommandFailure } from './cli/failure.ts';
import type { OwnTestChainAddress } from './embeddedChain.ts';
import type { EventLoop } from './memoryAtRest.ts';
import type { ServiceOptions } from './service.ts';
import { startFailure } from './startFailure.ts';

/** Everything that can be passed to another thread. */
export interface ThreadOptions
  extends Pick<
    ServiceOptions,
    'config' | 'databaseUrl' | 'secretsKey' | 'identityKey' | 'snapshotSecret' | 'operatorToken'
  > {
  readonly roles: readonly Role[];
  readonly masterKeys: readonly MasterKey[];
  readonly ownTestChain: OwnTestChainAddress | undefined;
  /** Exact texts that must never appear in a log. */
  readonly secretTexts: readonly string[];
  /** For a thread that serves the API: its place among those that do, and the port of all of them. */
  readonly api?: Pick<ApiThreads, 'place' | 'requestsInFlight'> & {
    readonly port: number;
    readonly makesMasterKeys: boolean;
  };
}

/** What the thread is asked. */
export interface ThreadCalls {
  readonly start: (options: ThreadOptions) => Promise<void>;
  readonly metrics: () => Promise<readonly MetricFigures[]>;
  readonly addMasterKey: (key: MasterKey) => Promise<void>;
  /** Drops what is cached of the log, since it is another one. */
  readonly forget: () => Promise<void>;
  /** As the service stops: what is in flight is finished, leases are released. */
  readonly stop: () => Promise<void>;
}

export interface ServiceThread extends ThreadCalls {
  readonly loop: EventLoop;
}

/** What a thread asks of the main thread. */
export interface MainThread {
  readonly takeToken: (token: readonly [limit: RateLimitName, key: string]) => Promise<number>;
  /** Of all threads but the one that asks. */
  readonly metricsOfOthers: () => Promise<readonly MetricFigures[]>;
  readonly makeNextMasterKey: (environment: Environment) => Promise<MasterKey>;
}

export type ToThread =
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly name: keyof ThreadCalls;
      readonly argument: unknown;
    }
  | Told;

/** The answer to a call or a question. */
export type Told =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: ThreadFailure };

export type ThreadMessage =
  | Told
  | {
      readonly kind: 'question';
      readonly id: number;
      readonly name: keyof MainThread;
      readonly argument: unknown;
    }
  /** A reader of the log has found that it is another one. */
  | { readonly kind: 'logRewritten' }
  /** What reads the log keeps up with it. The thread as the system calls it. */
  | { readonly kind: 'upToDate'; readonly thread: number };

/** With an exit code: a circumstance of the start. Its class does not survive the way between threads. */
export type ThreadFailure =
  | { readonly exitCode: number; readonly message: string }
  | { readonly exitCode: undefined; readonly error: unknown };

/** The background's work needs no more, and V8 would let it grow to several times that. */
const YOUNG_GENERATION_MIB = { background: 24, api: 48 };

/** Resolves the calls that wait for an answer. */
type Waiting = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>;

/** Loads the code at once, so that it is there when the thread is told to start. */
export function openServiceThread({
  name,
  main,
  onFailed,
  onLogRewritten,
  onUpToDate,
}: {
  readonly name: 'background' | `api-${number}`;
  readonly main: MainThread;
  /** It has ended by itself; told once. */
  readonly onFailed: (error: unknown) => void;
  readonly onLogRewritten: () => void;
  readonly onUpToDate: (thread: number) => void;
}): ServiceThread {
  // The size that the command line gives the main thread, which has taken it over, would overrule the limit of this one.
  setFlagsFromString('--max-semi-space-size=0');
  const worker = new Worker(new URL('../bin/thread.mjs', import.meta.url), {
    name,
    resourceLimits: {
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB[name === 'background' ? 'background' : 'api'],
    },
  });
  const waiting = new Map<number, Waiting>();
  let calls = 0;
  let isStarted = false;
  let isStopping = false;
  /** The last request for metrics, if it is unanswered: a thread that hangs is not asked again at each scrape. */
  let metricsAsked: Promise<readonly MetricFigures[]> | undefined;
  let ended: { readonly error: unknown } | undefined;

  const end = (error: unknown) => {
    if (ended) return;
    ended = { error };
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    if (!isStopping) onFailed(error);
  };
  worker.on('error', end);
  worker.on('exit', (code) =>
    end(new Error(`A thread of the service has ended by itself with code ${code}.`)),
  );
  worker.on('message', (message: ThreadMessage) => {
    if (message.kind === 'logRewritten') return onLogRewritten();
    if (message.kind === 'upToDate') return onUpToDate(message.thread);
    if (message.kind === 'question') {
      // The thread asks by the same interface.
      const asked = main[message.name] as (argument: unknown) => Promise<unknown>;
      void toldOf(message.id, asked(message.argument)).then((told) => worker.postMessage(told));
      return;
    }
    const { resolve, reject } = waiting.get(message.id) ?? {};
    waiting.delete(message.id);
    if (message.kind === 'answer') resolve?.(message.value);
    else reject?.(errorOf(message.failure));
  });

  return {
    loop: worker.performance,
    start(options) {
      isStarted = true;
      return call('start', options);
    },
    async metrics() {
      if (ended || !isStarted) return [];
      metricsAsked ??= call('metrics').finally(() => {
        metricsAsked = undefined;
      });
      return metricsAsked;
    },
    addMasterKey: (key) => call('addMasterKey', key),
    async forget() {
      if (!isStarted || ended) return;
      try {
        await call('forget');
      } catch (error) {
        // If it has failed meanwhile, that was told.
        if (!ended) throw error;
      }
    },
    async stop() {
      if (ended) return;
      try {
        if (isStarted) await call('stop');
      } catch (error) {
        // If it has failed meanwhile, that was told.
        if (!ended) throw error;
      } finally {
        isStopping = true;
        await worker.terminate();
      }
    },
  };

  function call<Name extends keyof ThreadCalls>(
    name: Name,
    argument?: Parameters<ThreadCalls[Name]>[0],
  ): ReturnType<ThreadCalls[Name]> {
    const answer = Promise.withResolvers<unknown>();
    if (ended) {
      answer.reject(ended.error);
    } else {
      calls += 1;
      waiting.set(calls, answer);
      worker.postMessage({ kind: 'call', id: calls, name, argument } satisfies ToThread, portsIn(argument));
    }
    // What the thread answers is what its function of this name returned.
    return answer.promise as ReturnType<ThreadCalls[Name]>;
  }
}

/** Only a start has any; they move to the thread. */
function portsIn(argument: unknown): readonly TransferListItem[] {
  const ports = (argument as Partial<ThreadOptions> | undefined)?.api?.place.ports ?? [];
  return ports.filter((port): port is MessagePort => port !== undefined);
}

export async function toldOf(id: number, asked: Promise<unknown>): Promise<Told> {
  try {
    return { kind: 'answer', id, value: await asked };
  } catch (error) {
    const known = startFailure(error);
    const failure = known
      ? { exitCode: known.exitCode, message: known.message }
      : { exitCode: undefined, error };
    return { kind: 'failure', id, failure };
  }
}

export function errorOf(failure: ThreadFailure): unknown {
  return failure.exitCode === undefined
    ? failure.error
    : new CommandFailure(failure.exitCode, failure.message);
}
