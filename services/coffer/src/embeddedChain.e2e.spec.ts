import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@coffer/http';
import { testWallet } from '@coffer/solana/testing';
import { expect } from 'chai';
import { type EmbeddedTestChain, openChainsOf, startEmbeddedTestChain } from './embeddedChain.ts';

describe('the embedded chain of an installation', () => {
  const GIFT = 10_000_000_000n;
  let dataFolder: string;
  let embedded: EmbeddedTestChain;

  before(async () => {
    dataFolder = await mkdtemp(join(tmpdir(), 'coffer-chain-'));
    embedded = await startEmbeddedTestChain(
      { dataFolder },
      { port: 0, slotMs: 20 },
      createLogger({ level: 'silent' }),
      new AbortController().signal,
    );
  });
  after(async () => {
    await embedded.stop();
    await rm(dataFolder, { recursive: true });
  });

  it('gives a fee payer what it needs once, and whoever asks finds it there', async () => {
    const chains = openChainsOf(
      { rpcUrls: { test: undefined, live: undefined } },
      { url: embedded.url, slotMs: 20 },
    );
    const { address } = testWallet('fee payer');
    const found = await Promise.all(
      Array.from({ length: 20 }, async () => {
        await chains.fundFeePayer('test', address);
        const [account] = await chains.of('test').accounts([address], 'confirmed');
        return account?.lamports;
      }),
    );
    expect(found).to.deep.equal(Array.from({ length: 20 }, () => GIFT));
    await chains.close();
  });
});
