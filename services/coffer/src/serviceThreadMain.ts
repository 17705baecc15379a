/** Runs in the thread: the roles that the main thread names, as a process of their own would run them. */
import assert from 'node:assert/strict';
import { parentPort } from 'node:worker_threads';
import { createLogger } from '@coffer/http';
import { createMasterKeys, type MasterKeys } from '@coffer/wallets';
import { openChainsOf } from './embeddedChain.ts';
import { type Service, startService } from './service.ts';
import type {
  ServiceThread,
  ThreadCall,
  ThreadFailure,
  ThreadMessage,
  ThreadOptions,
} from './serviceThread.ts';
import { startFailure } from './startFailure.ts';

assert(parentPort, 'this module runs in a thread');
const port = parentPort;
const tell = (message: ThreadMessage) => port.postMessage(message);

interface Running {
  readonly service: Service;
  readonly masterKeys: MasterKeys;
  readonly stop: () => Promise<void>;
}
let starting: Promise<Running> | undefined;

const calls: ServiceThread = {
  async start(options) {
    starting = start(options);
    await starting;
  },
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

port.on('message', ({ id, name, argument }: ThreadCall) => {
  // The main thread calls by the same interface.
  const call = calls[name] as (argument: unknown) => Promise<unknown>;
  call(argument).then(
    (value) => tell({ kind: 'answer', id, value }),
    (error: unknown) => tell({ kind: 'failure', id, failure: failureOf(error) }),
  );
});

async function start({ ownTestChain, secretTexts, ...options }: ThreadOptions): Promise<Running> {
  const { config } = options;
  const masterKeys = createMasterKeys(options.masterKeys);
  const chains = openChainsOf(config.chain, ownTestChain);
  const service = await startService({
    ...options,
    config: {
      ...config,
      // Processes work on few streams at a time; the states that requests meet are the main thread's.
      cacheBytes: config.cacheBytes / 8,
      // The main thread serves.
      systemPort: undefined,
      storeGateway: undefined,
    },
    storeGatewayPassword: undefined,
    logger: createLogger({ level: config.logLevel, secrets: secretTexts }),
    chains,
    masterKeys,
    // Only requests rotate keys.
    makeNextMasterKey: undefined,
    onLogRewritten: () => tell({ kind: 'logRewritten' }),
  });
  return {
    service,
    masterKeys,
    async stop() {
      await service.stop();
      await chains.close();
    },
  };
}

function failureOf(error: unknown): ThreadFailure {
  const known = startFailure(error);
  return known ? { exitCode: known.exitCode, message: known.message } : { exitCode: undefined, error };
}
