/** Runs in the thread: the roles that the main thread names, as a process of their own would run them. */
import assert from 'node:assert/strict';
import { parentPort } from 'node:worker_threads';
import { createLogger } from '@coffer/http';
import { createMasterKeys, type MasterKeys } from '@coffer/wallets';
import { openChainsOf } from './embeddedChain.ts';
import { giveWay } from './niceness.ts';
import { type Service, startService } from './service.ts';
import {
  errorOf,
  type MainThread,
  type ThreadCalls,
  type ThreadMessage,
  type ThreadOptions,
  type ToThread,
  toldOf,
} from './serviceThread.ts';
import { CHECK_EVERY_MS, thisThread } from './yielding.ts';

assert(parentPort, 'this module runs in a thread');
const port = parentPort;
const tell = (message: ThreadMessage) => port.postMessage(message);

interface Running {
  readonly service: Service;
  readonly masterKeys: MasterKeys;
  readonly stop: () => Promise<void>;
}
let starting: Promise<Running> | undefined;

const calls: ThreadCalls = {
  async start(options) {
    starting = start(options);
    await starting;
  },
  forget: async () => (await starting)?.service.forget(),
  metrics: async () => {
    const running = await starting;
    return running ? [await running.service.metrics()] : [];
  },
  async addMasterKey(key) {
    (await starting)?.masterKeys.add(key);
  },
  async stop() {
    const running = await starting?.catch(() => undefined);
    await running?.stop();
  },
};

const questions = new Map<number, PromiseWithResolvers<unknown>>();
let asked = 0;

port.on('message', (message: ToThread) => {
  if (message.kind === 'call') {
    // The main thread calls by the same interface.
    const call = calls[message.name] as (argument: unknown) => Promise<unknown>;
    void toldOf(message.id, call(message.argument)).then(tell);
    return;
  }
  const { resolve, reject } = questions.get(message.id) ?? {};
  questions.delete(message.id);
  if (message.kind === 'answer') resolve?.(message.value);
  else reject?.(errorOf(message.failure));
});

function ask<Name extends keyof MainThread>(
  name: Name,
  argument?: Parameters<MainThread[Name]>[0],
): ReturnType<MainThread[Name]> {
  const answer = Promise.withResolvers<unknown>();
  asked += 1;
  questions.set(asked, answer);
  tell({ kind: 'question', id: asked, name, argument });
  // What the main thread answers is what its function of this name returned.
  return answer.promise as ReturnType<MainThread[Name]>;
}

async function start({ ownTestChain, secretTexts, api, ...options }: ThreadOptions): Promise<Running> {
  const { config } = options;
  const logger = createLogger({ level: config.logLevel, secrets: secretTexts });
  if (!api) giveWay(logger);
  const masterKeys = createMasterKeys(options.masterKeys);
  const chains = openChainsOf(config.chain, ownTestChain);
  const service = await startService({
    ...options,
    config: {
      ...config,
      ...(api && { port: api.port }),
      // Processes work on few streams at a time; those that requests meet are divided among the threads of the API.
      cacheBytes: config.cacheBytes / (api?.place.ports.length ?? 8),
      // The main thread's alone.
      systemPort: undefined,
      storeGateway: undefined,
    },
    storeGatewayPassword: undefined,
    logger,
    chains,
    masterKeys,
    // Only requests rotate keys.
    makeNextMasterKey: api?.makesMasterKeys
      ? (environment) => ask('makeNextMasterKey', environment)
      : undefined,
    ...(api && {
      threads: {
        place: api.place,
        requestsInFlight: api.requestsInFlight,
        takeToken: (limit, key) => ask('takeToken', [limit, key]),
      },
      metricsOfOthers: () => ask('metricsOfOthers'),
    }),
    onLogRewritten: () => tell({ kind: 'logRewritten' }),
  });
  if (!api) reportWhileUpToDate(service);
  return {
    service,
    masterKeys,
    async stop() {
      await service.stop();
      await chains.close();
    },
  };
}

function reportWhileUpToDate({ isBehind }: Service): void {
  const thread = thisThread();
  if (thread === undefined) return;
  const report = () => {
    if (!isBehind()) tell({ kind: 'upToDate', thread });
  };
  setInterval(report, CHECK_EVERY_MS).unref();
}
