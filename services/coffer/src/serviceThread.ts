/**
 * A thread that runs some roles of this service, with a heap and an event loop of its own: neither its work nor its
 * collections hold up the API. It ends with the process, whatever ends that.
 */
import { Worker } from 'node:worker_threads';
import type { Role } from '@coffer/host';
import type { MetricFigures } from '@coffer/http';
import type { MasterKey } from '@coffer/wallets';
import { CommandFailure } from './cli/failure.ts';
import type { OwnTestChainAddress } from './embeddedChain.ts';
import type { ServiceOptions } from './service.ts';

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
}

export interface ServiceThread {
  readonly start: (options: ThreadOptions) => Promise<void>;
  readonly metrics: () => Promise<readonly MetricFigures[]>;
  readonly addMasterKey: (key: MasterKey) => Promise<void>;
  /** As the service stops: what is in flight is finished, leases are released. */
  readonly stop: () => Promise<void>;
}

export interface ThreadCall {
  readonly id: number;
  readonly name: keyof ServiceThread;
  readonly argument: unknown;
}

export type ThreadMessage =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: ThreadFailure }
  /** A reader of the log has found that it is another one. */
  | { readonly kind: 'logRewritten' };

/** With an exit code: a circumstance of the start. Its class does not survive the way between threads. */
export type ThreadFailure =
  | { readonly exitCode: number; readonly message: string }
  | { readonly exitCode: undefined; readonly error: unknown };

/** Its work needs no more, and V8 would let it grow to several times that. */
const YOUNG_GENERATION_MIB = 24;

/** Resolves the calls that wait for an answer. */
type Waiting = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>;

/** Loads the code at once, so that it is there when the thread is told to start. */
export function openServiceThread({
  onFailed,
  onLogRewritten,
}: {
  /** It has ended by itself; told once. */
  readonly onFailed: (error: unknown) => void;
  readonly onLogRewritten: () => void;
}): ServiceThread {
  const worker = new Worker(new URL('./serviceThreadMain.ts', import.meta.url), {
    name: 'background',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
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
    const { resolve, reject } = waiting.get(message.id) ?? {};
    waiting.delete(message.id);
    if (message.kind === 'answer') resolve?.(message.value);
    else reject?.(errorOf(message.failure));
  });

  return {
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

  function call<Name extends keyof ServiceThread>(
    name: Name,
    argument?: Parameters<ServiceThread[Name]>[0],
  ): ReturnType<ServiceThread[Name]> {
    const answer = Promise.withResolvers<unknown>();
    if (ended) {
      answer.reject(ended.error);
    } else {
      calls += 1;
      waiting.set(calls, answer);
      worker.postMessage({ id: calls, name, argument } satisfies ThreadCall);
    }
    // What the thread answers is what its function of this name returned.
    return answer.promise as ReturnType<ServiceThread[Name]>;
  }
}

function errorOf(failure: ThreadFailure): unknown {
  return failure.exitCode === undefined
    ? failure.error
    : new CommandFailure(failure.exitCode, failure.message);
}
