/** The chain as a separate process, controlled by its parent over their channel. */
import { messageOf } from '@coffer/kernel';
import { createEmbeddedChain } from './embeddedChain.ts';
import type { ChildMessage, ParentMessage } from './startEmbeddedChain.ts';

const tell = (message: ChildMessage) => process.send?.(message);

// From a terminal: the parent gets it too, and stops this process in order.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

process.once('message', async (first: ParentMessage) => {
  if (first.kind !== 'start') return;
  try {
    const onError = (error: unknown, where: string) => {
      process.stderr.write(`${where}: ${error instanceof Error ? error.stack : String(error)}\n`);
    };
    const onBroken = (error: unknown) => {
      onError(error, 'store');
      process.exit(1);
    };
    const chain = await createEmbeddedChain({ ...first.options, onError, onBroken });
    let stopping = false;
    const stop = async () => {
      if (stopping) return;
      stopping = true;
      await chain.stop();
      process.exit(0);
    };
    process.on('message', stop);
    process.on('disconnect', stop);
    process.on('SIGTERM', stop);
    if (!process.connected) return await stop();
    const { url, faucetAddress, genesisHash } = chain;
    tell({ kind: 'ready', url, faucetAddress, genesisHash });
  } catch (error) {
    tell({ kind: 'failed', reason: messageOf(error), takenPort: takenPortOf(error) });
    process.exitCode = 1;
    process.disconnect();
  }
});

function takenPortOf(error: unknown): number | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return undefined;
  return 'port' in error && typeof error.port === 'number' ? error.port : undefined;
}
