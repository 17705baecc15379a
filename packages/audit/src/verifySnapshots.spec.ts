import type { KeptSnapshot, KeptSnapshots, RecordedEvent } from '@coffer/event-store';
import { expect } from 'chai';
import { streamRules } from './streamRules.ts';
import { at, brief, chained, chainOf, jar, logOf, nameOf, reportOf, storeOf } from './testing/tamperedLog.ts';
import { verifyLog } from './verifyLog.ts';

const { signal } = new AbortController();
const TRUE = { facts: '{"balance":"3","seen":["1","2","3"]}', bytes: Buffer.from('bytes') };

describe('the verification of snapshots', () => {
  const events = logOf([1, 2, 1, 1, 2, 1]);
  const third = events[3];
  const rules = [
    streamRules({
      ...jar,
      version: 2,
      snapshot: {
        encode: (balance) => ({
          facts: {
            balance: `${balance}`,
            seen: Array.from({ length: Number(balance) }, (_, index) => `${index + 1}`),
          },
          bytes: Buffer.from('bytes'),
        }),
        decode: () => expect.fail('A verification decodes none.'),
      },
    }),
  ];

  const snapshotsOf = (change: Partial<KeptSnapshot>): KeptSnapshots => ({
    placesAmong: async (streams) =>
      streams
        .filter((stream) => stream === nameOf(1))
        .flatMap((stream) => [1, 2].map((deciderVersion) => ({ stream, deciderVersion }))),
    read: async (places) =>
      places.map(() => ({
        revision: 2,
        eventId: third?.id ?? '',
        state: TRUE,
        isAuthentic: true,
        ...change,
      })),
  });
  const faultsWith = async (change: Partial<KeptSnapshot>, log: readonly RecordedEvent[] = events) =>
    reportOf(
      verifyLog({
        store: storeOf(log),
        chain: chainOf(chained(log)),
        rules,
        snapshots: snapshotsOf(change),
        signal,
      }),
    );

  it('finds nothing in one that its stream folds to, in whichever order it says so', async () => {
    for (const facts of [TRUE.facts, '{"seen":["2","3","1"],  "balance":"3"}']) {
      expect(brief(await faultsWith({ state: { ...TRUE, facts } }))).to.deep.equal([]);
    }
  });

  for (const [what, change] of [
    ['says another balance', { state: { ...TRUE, facts: TRUE.facts.replace('"3",', '"4",') } }],
    ['leaves something out', { state: { ...TRUE, facts: TRUE.facts.replace(',"2"', '') } }],
    ['has other bytes', { state: { ...TRUE, bytes: Buffer.from('other') } }],
    ['has no bytes', { state: { ...TRUE, bytes: Buffer.alloc(0) } }],
    ['is no state', { state: { ...TRUE, facts: 'x' } }],
    ['was taken at another event', { revision: 1 }],
    ['was taken at an event that there is not', { revision: 9 }],
    ['the service did not write', { isAuthentic: false }],
  ] as const) {
    it(`names one that ${what}`, async () => {
      const { faults } = await faultsWith(change);
      expect(faults).to.have.length(1);
      const { revision = 2 } = change as Partial<KeptSnapshot>;
      expect(faults[0]).to.include({ kind: 'false_snapshot', ordinal: 1, stream: nameOf(1), revision });
    });
  }

  it('passes over one that was taken after it began', async () => {
    const store = {
      ...storeOf(events),
      head: async () => ({ position: at(3), eventId: events[2]?.id ?? '' }),
    };
    const chain = chainOf(chained(events.slice(0, 3)));
    const report = await reportOf(
      verifyLog({ store, chain, rules, snapshots: snapshotsOf({ state: { ...TRUE, facts: 'x' } }), signal }),
    );
    expect(brief(report)).to.deep.equal([]);
  });
});
