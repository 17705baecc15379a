import { keyWordsOf, WholeStateNeeded } from '@coffer/kernel';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  bytesOfWrites,
  comparerOf,
  decodeWrites,
  encodeWrites,
  isRemembered,
  isWhole,
  type NewWrite,
  noWrites,
  outlineWrites,
  type SessionWrites,
  withWrite,
  writesIn,
  writeUnder,
} from './sessionWrites.ts';

const bet = (transactionUuid: string, more: Partial<NewWrite> = {}): NewWrite => ({
  kind: 'bet',
  transactionUuid,
  amount: 5n,
  balance: 95n,
  ...more,
});
const on = (kind: NewWrite['kind'], betTransactionUuid: string, transactionUuid: string): NewWrite => ({
  kind,
  transactionUuid,
  betTransactionUuid,
  amount: 7n,
  balance: 102n,
});
const after = (...all: readonly NewWrite[]): SessionWrites => all.reduce(withWrite, noWrites());

const returned = (writes: SessionWrites): SessionWrites => decodeWrites(encodeWrites(writes));

/** The same where there is no outline. */
function outlined(writes: SessionWrites, rows: number): SessionWrites {
  const outline = outlineWrites(writes, rows);
  return outline ? writesIn(outline) : writes;
}

const attempt = <Value>(make: () => Value): Value | undefined => {
  try {
    return make();
  } catch (error) {
    if (error instanceof WholeStateNeeded) throw error;
    return undefined;
  }
};

/** Undefined where an outline does not suffice. */
function orNeeded<Value>(make: () => Value): Value | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof WholeStateNeeded) return undefined;
    throw error;
  }
}

/** Everything that the rules may ask about these uuids and rounds. */
const seen = (writes: SessionWrites) => IDS.map((id) => seenOf(writes, id));
function seenOf(writes: SessionWrites, id: string) {
  const write = writeUnder(writes, id);
  return {
    id,
    write,
    remembered: isRemembered(writes, id),
    rounds: write && [undefined, ...IDS].filter(comparerOf(writes, write).roundId),
    on: write && write.kind !== 'bet' && IDS.filter(comparerOf(writes, write).betTransactionUuid),
  };
}
/** Of each width that there is. */
const figure = fc.constantFrom(0n, 3n, 2n ** 24n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 64n - 1n, 2n ** 65n);
function usualBalance(before: NewWrite | undefined, kind: NewWrite['kind'], amount: bigint): bigint {
  const balance = before?.balance ?? 0n;
  if (kind === 'bet') return balance < amount ? 0n : balance - amount;
  return kind === 'win' || kind === 'rollback' ? balance + amount : balance;
}
const IDS = ['a', 'b', 'c', 'd', 'e', 'f', '00000000-0000-0000-0000-000000000000'];

describe('the writes of a session', () => {
  it('are found under their uuid, with the fate of a bet', () => {
    const writes = after(bet('a'), bet('b'), bet('c'), on('win', 'a', 'd'), on('rollback', 'b', 'e'));
    const fates = ['a', 'b', 'c'].map((uuid) => writeUnder(writes, uuid)?.fate);
    expect(fates).to.deep.equal(['won', 'rolledBack', 'open']);
    expect(writeUnder(writes, 'd')).to.deep.equal({
      kind: 'win',
      place: 3,
      amount: 7n,
      balance: 102n,
      fate: 'open',
    });
    expect(writeUnder(writes, 'f')).to.equal(undefined);
  });

  it('show that a bet was won, even after its second win', () => {
    const won = after(bet('a'), on('win', 'a', 'b'));
    const again = withWrite(won, on('win', 'a', 'c'));
    expect([won, again].map((writes) => writeUnder(writes, 'a')?.fate)).to.deep.equal(['won', 'won']);
  });

  it('hold figures beyond 64 bits', () => {
    const large = { amount: 2n ** 64n, balance: 2n ** 70n };
    const writes = after(bet('a', large), bet('b', { amount: 1n, balance: 2n ** 64n - 1n }));
    expect(writeUnder(writes, 'a')).to.include(large);
    expect(writeUnder(writes, 'b')).to.include({ amount: 1n, balance: 2n ** 64n - 1n });
  });

  it('distinguish a round from another and from none, whatever its id', () => {
    const [none, a, zero] = [
      after(bet('a')),
      after(bet('a', { roundId: 'a' })),
      after(bet('a', { roundId: IDS[6] })),
    ];
    const roundsOf = (writes: SessionWrites) => seen(writes)[0]?.rounds;
    expect([none, a, zero].map(roundsOf)).to.deep.equal([[undefined], ['a'], [IDS[6]]]);
  });

  it('remember bets whose rollback came first', () => {
    const writes = after(bet('a'), on('rememberedRollback', 'b', 'c'));
    expect(IDS.filter((id) => isRemembered(writes, id))).to.deep.equal(['b']);
  });

  it('take no uuid twice and no win without its bet', () => {
    expect(() => after(bet('a'), bet('a'))).to.throw('used once');
    expect(() => after(on('win', 'a', 'b'))).to.throw('is not a bet');
    expect(() => after(bet('a'), on('win', 'a', 'b'), on('win', 'b', 'c'))).to.throw('is not a bet');
  });

  it('leave a version unchanged, however others continue, and are decoded from their bytes as they were', () => {
    const anyWrite = fc.record({
      /** Mostly the newest version. */
      from: fc.option(fc.nat(), { freq: 2 }),
      kind: fc.constantFrom('bet', 'win', 'rollback', 'rememberedRollback', 'settle' as const),
      uuid: fc.constantFrom(...IDS),
      other: fc.constantFrom(...IDS),
      round: fc.option(fc.constantFrom(...IDS)),
      amount: figure,
      /** Comes back from a snapshot before the write. */
      returns: fc.boolean(),
      /** Undefined: what the write usually leaves. */
      balance: fc.option(figure, { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(anyWrite, { maxLength: 40 }), (steps) => {
        const versions = [{ writes: noWrites(), history: [] as readonly NewWrite[] }];
        for (const { from, kind, uuid, other, round, amount, balance, returns } of steps) {
          const version = from === null ? versions.at(-1) : versions[from % versions.length];
          if (!version) continue;
          const write: NewWrite = {
            kind,
            transactionUuid: uuid,
            amount,
            balance: balance ?? usualBalance(version.history.at(-1), kind, amount),
            ...(round === null ? {} : { roundId: round }),
            ...(kind === 'bet' || kind === 'settle' ? {} : { betTransactionUuid: other }),
          };
          const history = [...version.history, write];
          const wanted = attempt(() => after(...history));
          const before = returns ? returned(version.writes) : version.writes;
          const writes = attempt(() => withWrite(before, write));
          expect(typeof writes, 'the same is possible however others continued').to.equal(typeof wanted);
          if (typeof writes === 'object') versions.push({ writes, history });
        }
        for (const { writes, history } of versions) {
          // Before anything is looked for in it, which unpacks it.
          expect(encodeWrites(writes)).to.deep.equal(encodeWrites(after(...history)));
          expect(seen(returned(writes))).to.deep.equal(seen(after(...history)));
          expect(seen(writes)).to.deep.equal(seen(after(...history)));
          expect(encodeWrites(writes)).to.deep.equal(encodeWrites(after(...history)));
        }
      }),
    );
  });

  it('say the same from an outline, however others continued, or that all of them are needed', () => {
    const anyWrite = fc.record({
      /** Mostly the newest version. */
      from: fc.option(fc.nat(), { freq: 2 }),
      kind: fc.constantFrom('bet', 'bet', 'bet', 'win', 'rollback', 'rememberedRollback', 'settle' as const),
      uuid: fc.constantFrom(...IDS),
      other: fc.constantFrom(...IDS),
      round: fc.option(fc.constantFrom(...IDS), { nil: undefined }),
      amount: fc.constantFrom(0n, 3n, 4n, 5n, 2n ** 64n - 1n, 2n ** 65n),
      /** How many rows the outline has that it comes back from before the write. */
      rows: fc.option(fc.nat(5)),
      fromSnapshot: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(anyWrite, { maxLength: 40 }), (steps) => {
        const versions = [{ writes: noWrites(), history: [] as readonly NewWrite[] }];
        for (const { from, kind, uuid, other, round, amount, rows, fromSnapshot } of steps) {
          const version = from === null ? versions.at(-1) : versions[from % versions.length];
          if (!version) continue;
          const write: NewWrite = {
            ...bet(uuid, { kind, amount, roundId: round }),
            ...(kind !== 'bet' && kind !== 'settle' && { betTransactionUuid: other }),
          };
          const history = [...version.history, write];
          const wanted = attempt(() => after(...history));
          const whole = fromSnapshot && isWhole(version.writes) ? returned(version.writes) : version.writes;
          const before = rows === null ? whole : outlined(whole, rows);
          const writes = orNeeded(() => attempt(() => withWrite(before, write))) ?? wanted;
          expect(typeof writes).to.equal(typeof wanted);
          if (typeof writes === 'object') versions.push({ writes, history });
        }
        for (const { writes, history } of versions) {
          const expected = seen(after(...history));
          const met = IDS.map((id) => orNeeded(() => seenOf(writes, id)));
          expect(met).to.deep.equal(met.map((one, index) => one && expected[index]));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('suffice in an outline for a new bet, and for a win on one that is told in full', () => {
    const writes = after(bet('a'), bet('b'), on('win', 'a', 'c'), bet('d'));
    const back = outlined(writes, 2);
    expect(isWhole(back)).to.equal(false);
    expect(writeUnder(back, 'new')).to.equal(undefined);
    const next = withWrite(withWrite(back, bet('new')), on('win', 'd', 'e'));
    expect(writeUnder(next, 'd')).to.include({ place: 3, fate: 'won' });
    expect(writeUnder(next, 'c')).to.include({ place: 2, kind: 'win' });
    for (const marked of ['a', 'b']) expect(() => writeUnder(next, marked)).to.throw(WholeStateNeeded);
    expect(() => withWrite(next, on('win', 'b', 'f'))).to.throw(WholeStateNeeded);
    expect(() => withWrite(next, bet('a'))).to.throw(WholeStateNeeded);
  });

  it('are known by their marks and rows whatever bits those have', () => {
    const markOf = (uuid: string) => (keyWordsOf(uuid)[0] ?? 0) & 0xffff;
    const all = Array.from({ length: 4_000 }, (_, count) => `bet-${count}`);
    const uuids = [...new Map(all.map((uuid) => [markOf(uuid), uuid])).values()];
    let kept = noWrites();
    let back = noWrites();
    for (const uuid of uuids) {
      const write = bet(uuid, { roundId: `round of ${uuid}` });
      kept = withWrite(kept, write);
      back = outlined(withWrite(back, write), 4);
      expect(writeUnder(back, uuid)).to.deep.equal(writeUnder(kept, uuid));
    }
    expect(back.size).to.equal(uuids.length);
    for (const uuid of uuids.slice(0, -4)) expect(() => writeUnder(back, uuid)).to.throw(WholeStateNeeded);
    for (const uuid of uuids.slice(-4)) {
      expect(writeUnder(back, uuid)).to.deep.equal(writeUnder(kept, uuid));
    }
  });

  it('have no outline where marks do not tell enough', () => {
    expect(outlineWrites(after(on('rememberedRollback', 'b', 'c')), 0)).to.equal(undefined);
    expect(outlineWrites(after(bet('a', { amount: 2n ** 64n })), 0)).to.equal(undefined);
    let many = noWrites();
    for (let count = 1; count <= 4_096; count++) many = withWrite(many, bet(`bet-${count}`));
    expect(outlineWrites(many, 0)?.marks).to.have.length(4_096);
    expect(outlineWrites(withWrite(many, bet('one more')), 0)).to.equal(undefined);
  });

  it('take less of a snapshot where one follows from another', () => {
    const bytesOf = (...all: readonly NewWrite[]) => encodeWrites(after(...all)).bytes.length;
    const first = bet('a', { roundId: 'r', amount: 5n, balance: 95n });
    const next = bet('b', { roundId: 's', amount: 5n, balance: 90n });
    const win = { ...on('win', 'a', 'c'), amount: 7n, balance: 102n };
    expect(bytesOf(first, next) - bytesOf(first), 'key, flags with the amount, round').to.equal(16 + 4 + 8);
    expect(bytesOf(first, { ...win, roundId: 'r' }) - bytesOf(first), 'key, flags, amount').to.equal(
      16 + 4 + 4,
    );
    expect(bytesOf(first, { ...win, roundId: 's', balance: 1n }) - bytesOf(first)).to.equal(24 + 8 + 8);
  });

  it('take as much of a snapshot whenever they were added', () => {
    const winIn = (roundId: string, uuid: string) => ({ ...on('win', 'b', uuid), roundId });
    const all = [bet('a'), bet('b', { roundId: 'r' }), winIn('s', 'c'), winIn('r', 'd')] as const;
    const [first, ...rest] = all;
    expect(encodeWrites(rest.reduce(withWrite, returned(after(first))))).to.deep.equal(
      encodeWrites(after(...all)),
    );
  });

  it('take at most 64 bytes each', () => {
    let writes = noWrites();
    for (let count = 1; count <= 20_000; count++) {
      writes = withWrite(writes, bet(`bet-${count}`));
      if (count > 1_000) expect(bytesOfWrites(writes) / count, `${count} writes`).to.be.at.most(64);
    }
  });

  it('take less memory while none of those from a snapshot is needed, and the same again afterwards', () => {
    const all = Array.from({ length: 1_000 }, (_, place) => bet(`bet-${place}`, { amount: 0n }));
    const kept = after(...all);
    const back = returned(kept);
    expect(bytesOfWrites(back)).to.be.below(bytesOfWrites(kept) / 2);
    const next = withWrite(back, bet('next'));
    expect(bytesOfWrites(next)).to.be.below(bytesOfWrites(kept) / 2);
    expect(writeUnder(next, 'bet-7')).to.deep.equal(writeUnder(kept, 'bet-7'));
    expect(bytesOfWrites(next)).to.equal(bytesOfWrites(after(...all, bet('next'))));
  });

  it('are found quickly again where many are looked for', () => {
    const kept = after(...Array.from({ length: 100 }, (_, place) => bet(`bet-${place}`)));
    const back = returned(kept);
    for (let search = 0; search < 100; search++)
      expect(writeUnder(back, `new-${search}`)).to.equal(undefined);
    expect(bytesOfWrites(back)).to.equal(bytesOfWrites(kept));
  });

  it('are told apart if the hashes of their uuids begin alike', () => {
    const [one, two] = ['bet-12192', 'bet-17452'];
    expect(keyWordsOf(one)[0]).to.equal(keyWordsOf(two)[0]);
    expect(writeUnder(returned(after(bet('other'), bet(one))), two)).to.equal(undefined);
    const both = after(bet(one, { amount: 1n }), bet('other'), bet(two, { amount: 2n }));
    expect(writeUnder(returned(both), one)).to.include({ amount: 1n });
    expect(writeUnder(returned(both), two)).to.include({ amount: 2n });
  });

  it('are refused if their bytes do not fit together', () => {
    const encoded = encodeWrites(after(bet('a'), bet('b')));
    const { bytes, size } = encoded;
    expect(() => decodeWrites({ ...encoded, bytes: bytes.subarray(0, -4) })).to.throw();
    expect(() => decodeWrites({ ...encoded, bytes: Buffer.concat([bytes, Buffer.alloc(4)]) })).to.throw();
    expect(() => decodeWrites({ ...encoded, size: size + 1 })).to.throw();
    expect(() => decodeWrites({ ...encoded, bodyWords: encoded.bodyWords - 1 })).to.throw();
    expect(() => decodeWrites({ ...encoded, remembered: [1] })).to.throw();
  });
});
