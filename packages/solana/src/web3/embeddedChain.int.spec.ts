/** The adapter on the chain that comes with the service: real programs behind real JSON-RPC, its slots moved by hand. */
import { createEmbeddedChain } from '@coffer/embedded-chain';
import { itIsAChain } from '../chain.contract.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import { rpcWorld } from './rpcWorld.contract.ts';

for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
  itIsAChain(`The embedded chain with a token of ${program.slice(0, 6)}`, async () => {
    const node = await createEmbeddedChain({ slotMs: 'byHand' });
    const world = await rpcWorld(node.url, program, () => node.advance(1));
    return {
      ...world,
      async prune(statuses) {
        node.faults.clear();
        node.faults.inject({ kind: 'prune', statuses });
      },
      close: async () => {
        await world.close();
        await node.stop();
      },
    };
  });
