/** The adapter on the chain that comes with the service: real programs behind real JSON-RPC, its slots moved by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createEmbeddedChain } from '@coffer/embedded-chain/testing';
import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import { itIsAChain } from '../chain.contract.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import { rpcWorld } from '../testing/rpcWorld.ts';
import { createRpcChain } from './rpcChain.ts';

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

describe('What never landed on the embedded chain', () => {
  const NEVER_SENT = encodeBase58(Buffer.alloc(64, 7));
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-chain-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What an adapter reports after more slots than a blockhash lives. */
  const told = async <T>(ask: (chain: ReturnType<typeof createRpcChain>) => Promise<T>) => {
    const node = await createEmbeddedChain({ slotMs: 'byHand', folder });
    const chain = createRpcChain({ urls: [node.url], timeoutMs: 10_000 });
    try {
      const { lastValidBlockHeight } = await chain.latestBlockhash();
      node.advance(200);
      return {
        lastValidBlockHeight,
        isLost: await chain.isLost(NEVER_SENT, lastValidBlockHeight),
        absence: await chain.absence(NEVER_SENT, 0n),
        history: await chain.history(),
        asked: await ask(chain),
      };
    } finally {
      await chain.close();
      await node.stop();
    }
  };

  it('is lost, even with the blockhash of its first block, and on a store from the former release', async () => {
    const first = await told(async () => undefined);
    expect(first).to.deep.include({ isLost: true, absence: 'unknown' });
    expect(first.history.from).to.equal(0n);

    const database = new DatabaseSync(join(folder, 'chain.db'));
    database.exec(`drop table times; drop index accounts_by_owner; drop index accounts_by_mint;
      drop index accounts_by_delegate;`);
    database.close();
    const again = await told((chain) => chain.isLost(NEVER_SENT, first.lastValidBlockHeight));
    expect(again).to.deep.include({ isLost: true, absence: 'unknown', asked: true });
    expect(again.history.from).to.equal(0n);
  });
});
