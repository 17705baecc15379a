import { expect } from 'chai';
import { createFaultList } from './faults.ts';
import { createKnownRevisions, createRevisionCheck } from './streamCheck.ts';
import { changed, logOf, storeOf } from './testing/tamperedLog.ts';

const JARS = [1, 2, 3, 4, 5, 1, 1, 5, 3, 2, 4, 1];

describe('the last revisions of streams', () => {
  it('are known of the streams seen last, and forgotten of those not seen for long', () => {
    const known = createKnownRevisions(2);
    for (const [revision, stream] of ['a', 'b', 'c'].entries()) known.set(stream, revision);
    expect(['a', 'b', 'c'].map(known.get)).to.deep.equal([0, 1, 2]);
    known.set('c', 7);
    known.set('a', 8);
    expect(['a', 'b', 'c'].map(known.get)).to.deep.equal([8, undefined, 7]);
  });

  for (const most of [1, 2, 100]) {
    it(`are asked of the store where they are not known: ${most} known`, async () => {
      const log = logOf(JARS);
      const holed = changed(log, 10, (event) => ({ ...event, revision: event.revision + 1 }));
      for (const [events, expected] of [
        [log, []],
        [holed, ['revision_gap 10']],
      ] as const) {
        const faults = createFaultList();
        const check = createRevisionCheck(storeOf(events), faults, createKnownRevisions(most));
        for (const [index, event] of events.entries()) await check.take(event, index + 1);
        expect(faults.listed().map(({ kind, ordinal }) => `${kind} ${ordinal}`)).to.deep.equal(expected);
      }
    });
  }
});
