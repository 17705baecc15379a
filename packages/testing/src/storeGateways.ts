/** Starts store gateways in separate processes: an event store that is somewhere else, as EventStoreDB is. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { StoreGatewayProcessOptions } from './storeGatewayProcess.ts';

export interface StoreGatewayProcess {
  /** For the client of EventStoreDB. */
  readonly connectionString: string;
  stop(): Promise<void>;
}

/** Throws if the process ends before it serves. */
export async function startStoreGatewayProcess(
  options: StoreGatewayProcessOptions = {},
): Promise<StoreGatewayProcess> {
  const program = fileURLToPath(import.meta.resolve('./storeGatewayProcess.ts'));
  const child = fork(program, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const endedEarly = ended.then(([code, signal]) => {
    throw new Error(`The store gateway left with ${code ?? signal}.`);
  });
  const [port] = await Promise.race([once(child, 'message'), endedEarly]);
  // From now on its end is what `stop` waits for.
  endedEarly.catch(() => undefined);
  return {
    connectionString: `esdb://127.0.0.1:${port}?tls=false`,
    async stop() {
      if (child.connected) child.send('stop');
      await ended;
    },
  };
}
