import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { failureOf } from '@coffer/testing';
import { Keypair, PublicKey } from '@solana/web3.js';
import { expect } from 'chai';
import { type ChainProcess, EmbeddedChainError, startEmbeddedChain } from './startEmbeddedChain.ts';
import { callRpc } from './testing/chainWorld.ts';
import { connectionTo, LAMPORTS_PER_SOL, signed, transfer } from './testing/web3Client.ts';

const POLL_MS = 10;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(POLL_MS);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('an embedded chain as a process', () => {
  let folder: string;
  const started = new Set<ChainProcess>();
  const start = async (options: { mints?: { address: string; decimals: number }[]; port?: number } = {}) => {
    const chain = await startEmbeddedChain({ folder, slotMs: 20, ...options });
    started.add(chain);
    return chain;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-chain-'));
  });
  afterEach(async () => {
    for (const chain of started) await chain.stop();
    started.clear();
    rmSync(folder, { recursive: true });
  });

  it('serves a client, stops when asked to, and continues in its folder', async () => {
    const mint = Keypair.generate().publicKey.toBase58();
    const chain = await start({ mints: [{ address: mint, decimals: 6 }] });
    const bob = Keypair.generate().publicKey;
    const signature = await connectionTo(chain).requestAirdrop(bob, 5e9);
    await until(async () => (await connectionTo(chain).getBalance(bob, 'finalized')) === 5e9);
    const slot = await connectionTo(chain).getSlot('processed');
    await chain.stop();
    expect(await chain.exited).to.deep.equal({ code: 0, signal: null, output: '' });

    const again = await start();
    expect(again.genesisHash).to.equal(chain.genesisHash);
    expect(await connectionTo(again).getSlot('processed')).to.be.greaterThan(slot);
    expect(await connectionTo(again).getBalance(bob)).to.equal(5e9);
    expect((await connectionTo(again).getTokenSupply(new PublicKey(mint))).value.decimals).to.equal(6);
    const { value } = await connectionTo(again).getSignatureStatuses([signature], {
      searchTransactionHistory: true,
    });
    expect(value[0]?.err).to.equal(null);
  });

  it('has everything that it has answered if it is killed while many send at once', async () => {
    const bob = Keypair.generate().publicKey;
    const gift = 1_000_000;
    const accepted = new Set<string>();
    let newestSlot = 0;
    for (let round = 1; round <= 3; round += 1) {
      const chain = await start();
      const connection = connectionTo(chain);
      const goal = accepted.size + 30 * round;
      const send = async () => {
        for (;;) {
          accepted.add(await connection.requestAirdrop(bob, gift));
          newestSlot = Math.max(newestSlot, await connection.getSlot('processed'));
        }
      };
      const senders = Array.from({ length: 16 }, () => failureOf(send()));
      await until(() => accepted.size >= goal);
      process.kill(chain.pid, 'SIGKILL');
      await Promise.all(senders);
      expect((await chain.exited).signal).to.equal('SIGKILL');
    }

    const chain = await start();
    const connection = connectionTo(chain);
    expect(await connection.getSlot('processed')).to.be.greaterThan(newestSlot);
    await until(async () => (await connection.getSlot('finalized')) > newestSlot);
    const listed = await connection.getSignaturesForAddress(bob, {}, 'finalized');
    const known = new Set(listed.map(({ signature }) => signature));
    expect([...accepted].filter((signature) => !known.has(signature))).to.deep.equal([]);
    // What was in flight may be there or not, but only as a whole.
    expect(await connection.getBalance(bob, 'finalized')).to.equal(listed.length * gift);
    const slots = listed.map(({ slot }) => slot);
    expect(slots).to.deep.equal([...slots].sort((one, other) => other - one));
  });

  it('ends when whoever started it is gone', async () => {
    const module = fileURLToPath(new URL('./startEmbeddedChain.ts', import.meta.url));
    const parent = spawn(
      process.execPath,
      [
        '--input-type=module-typescript',
        '--eval',
        `import { startEmbeddedChain } from ${JSON.stringify(module)};
         const chain = await startEmbeddedChain({ folder: ${JSON.stringify(folder)} });
         process.stdout.write(String(chain.pid) + '\\n');`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = await once(createInterface(parent.stdout), 'line');
    const pid = Number(line);
    expect(isAlive(pid)).to.equal(true);
    parent.kill('SIGKILL');
    await until(() => !isAlive(pid));
  });

  it("leaves a terminal's signal to whoever started it", async () => {
    const chain = await start();
    process.kill(chain.pid, 'SIGINT');
    process.kill(chain.pid, 'SIGHUP');
    expect(await callRpc(chain.url, 'getHealth', [])).to.equal('ok');
    process.kill(chain.pid, 'SIGTERM');
    expect((await chain.exited).code).to.equal(0);
  });

  it('can be stopped even if it ended a moment ago and nobody has noticed', async () => {
    const chain = await start();
    process.kill(chain.pid, 'SIGKILL');
    // Waits without a turn of our own loop, in which we would notice.
    execFileSync('sh', ['-c', `until ps -o stat= -p ${chain.pid} | grep -q Z; do sleep 0.01; done`]);
    await chain.stop();
    expect((await chain.exited).signal).to.equal('SIGKILL');
  });

  it('says why it could not start', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const failure = await failureOf(start({ port }));
    taken.close();
    expect(failure).to.be.instanceOf(EmbeddedChainError);
    expect(failure.message).to.contain('EADDRINUSE');
    expect(failure).to.have.property('takenPort', port);
  });

  it('outlives whatever bytes it is sent', async () => {
    const chain = await start();
    const connection = connectionTo(chain);
    const alice = Keypair.generate();
    await connection.requestAirdrop(alice.publicKey, Number(LAMPORTS_PER_SOL));
    const wire = await signed(
      connection,
      [alice],
      [transfer(alice.publicKey, PublicKey.default, 1_000_000n)],
    );
    // A sequence that is the same in every run.
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const changed = () => {
      const bytes = Buffer.from(wire);
      // Apart from the signatures: what matters is how the rest is read.
      for (let count = 1 + random(3); count > 0; count -= 1)
        bytes[64 + random(bytes.length - 64)] = random(256);
      return random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    };
    const call = (id: number) => ({
      ...{ jsonrpc: '2.0', id, method: id % 2 ? 'sendTransaction' : 'simulateTransaction' },
      params: [changed().toString('base64'), { encoding: 'base64', skipPreflight: true, sigVerify: false }],
    });
    for (let batch = 0; batch < 40; batch += 1) {
      const body = JSON.stringify(Array.from({ length: 100 }, (_, id) => call(id)));
      const response = await fetch(chain.url, { method: 'POST', body });
      const text = await response.text();
      expect(text).to.not.contain('-32603');
      expect(JSON.parse(text)).to.have.length(100);
    }
    expect(await callRpc(chain.url, 'getHealth', [])).to.equal('ok');
  });
});
