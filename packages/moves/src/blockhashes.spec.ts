import type { Chain } from '@coffer/solana';
import { expect } from 'chai';
import { createBlockhashSharing } from './blockhashes.ts';
import { createSimulatedChain } from './testing/simulatedChain.ts';
import { simulatedClock } from './testing/simulatedClock.ts';

describe('a shared blockhash', () => {
  const LIFETIME_MS = 200;
  const chainNumbering = (name: string): Chain => {
    let count = 0;
    const latestBlockhash = async () => ({ blockhash: `${name}${++count}`, lastValidBlockHeight: 1n });
    return { ...createSimulatedChain(simulatedClock()).chain, latestBlockhash };
  };

  it('belongs to its chain, and is no older than allowed', async () => {
    let nowMs = 0;
    const share = createBlockhashSharing({ nowMs: () => nowMs }, { blockhashLifetimeMs: LIFETIME_MS });
    const [test, live] = [chainNumbering('test'), chainNumbering('live')];
    const hashOf = async (chain: Chain) => (await share(chain).latestBlockhash()).blockhash;
    expect(await Promise.all([hashOf(test), hashOf(test), hashOf(live)])).to.deep.equal([
      'test1',
      'test1',
      'live1',
    ]);
    nowMs = LIFETIME_MS - 1;
    expect(await hashOf(test)).to.equal('test1');
    nowMs = LIFETIME_MS;
    expect(await hashOf(test)).to.equal('test2');
  });
});
