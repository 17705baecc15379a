/** What every snapshot store does. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { PlacedSnapshot, Snapshot, SnapshotPlace, SnapshotStore } from './snapshots.ts';

const placeOf = (number: number) => ({ stream: `purse-test.app.${number}`, deciderVersion: 3 });
const snapshotOf = (number: number, revision = 2_000): PlacedSnapshot => ({
  ...placeOf(number),
  revision,
  eventId: randomUUID(),
  state: { facts: { balance: `${revision}`, 'name "\nŁ': [1] }, bytes: Buffer.from([0, 10, 255, number]) },
});
/** Nothing of it may be kept. */
const copyOf = (_: SnapshotPlace, snapshot: Snapshot): Snapshot => structuredClone(snapshot);
const found = ({ revision, eventId, state }: PlacedSnapshot) => ({ revision, eventId, state });

export function snapshotStoreContract(storeNow: () => SnapshotStore): void {
  describe('keeps to the contract', () => {
    let store: SnapshotStore;
    beforeEach(() => {
      store = storeNow();
    });

    it('one for each place, in their order, whatever is among them', async () => {
      const [one, two] = [snapshotOf(1), { ...snapshotOf(2), state: { facts: [] } }];
      await store.save([two, one]);
      expect(await store.load([placeOf(1), placeOf(9), placeOf(2), placeOf(1)], copyOf)).to.deep.equal([
        found(one),
        undefined,
        found(two),
        found(one),
      ]);
    });

    it('none of another version', async () => {
      await store.save([snapshotOf(1)]);
      expect(await store.load([{ ...placeOf(1), deciderVersion: 4 }], copyOf)).to.deep.equal([undefined]);
    });

    it('the last one that was saved, even if it is of an earlier event', async () => {
      const earlier = snapshotOf(1, 10);
      await store.save([snapshotOf(1), snapshotOf(2)]);
      await store.save([earlier]);
      expect(await store.load([placeOf(1)], copyOf)).to.deep.equal([found(earlier)]);
    });

    it('none of a stream whose snapshots were removed', async () => {
      const other = snapshotOf(2);
      await store.save([snapshotOf(1), other]);
      await store.remove([placeOf(1).stream, placeOf(9).stream]);
      expect(await store.load([placeOf(1), placeOf(2)], copyOf)).to.deep.equal([undefined, found(other)]);
    });
  });
}
