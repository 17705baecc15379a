import type { RecordedEvent } from '@coffer/event-store';
import { expect } from 'chai';
import type { Block } from './blocks.ts';
import { entryHash, GENESIS } from './chain.ts';
import { brief, chained, chainOf, changed, logOf, reportOf, storeOf } from './testing/tamperedLog.ts';
import { verifyExtension } from './verifyLog.ts';

const { signal } = new AbortController();

describe('the proof that the log extends a noted head', () => {
  const events = logOf([1, 2, 1, 3, 2, 1]);
  const blocks = chained(events);
  const hashes: Buffer[] = [];
  for (const [index, event] of events.entries()) {
    hashes.push(entryHash(hashes[index - 1] ?? GENESIS, index + 1, event));
  }
  const extended = (log: readonly RecordedEvent[], kept: readonly Block[], ordinal: number, hash?: Buffer) =>
    reportOf(
      verifyExtension(
        { store: storeOf(log), chain: chainOf(kept), signal },
        { ordinal, hash: hash ?? hashes[ordinal - 1] ?? GENESIS },
      ),
    );

  it('holds for every head there was', async () => {
    for (const ordinal of [1, 3, 6]) {
      expect(await extended(events, blocks, ordinal)).to.include({ extends: true, faultCount: 0 });
    }
  });

  it('fails where the chain was made anew over a log that was altered', async () => {
    const altered = changed(events, 2, (event) => ({ ...event, metadata: '{"v":1,"x":1}' }));
    const anew = chained(altered);
    expect(await extended(altered, anew, 1)).to.include({ extends: true, faultCount: 0 });
    expect(await extended(altered, anew, 2)).to.include({ extends: false, faultCount: 0 });
    expect(await extended(altered, anew, 6)).to.include({ extends: false, faultCount: 0 });
  });

  it('names what was altered behind the head', async () => {
    const altered = changed(events, 5, (event) => ({ ...event, metadata: '{}' }));
    const report = await extended(altered, blocks, 4);
    expect(report).to.include({ extends: true, faultCount: 1 });
    expect(brief(report)).to.deep.equal(['altered 5']);
  });

  it('fails for a hash that never was, and where the log ends before it', async () => {
    expect(await extended(events, blocks, 3, Buffer.alloc(32, 1))).to.include({ extends: false });
    expect(await extended(events.slice(0, 4), blocks, 6)).to.include({ extends: false, faultCount: 2 });
  });
});
