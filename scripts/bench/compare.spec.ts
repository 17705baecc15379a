import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { compareRows, type MeasuredRow, readRows } from './compare.ts';

const row = (rounds: number[], better: MeasuredRow['better'] = 'more'): readonly MeasuredRow[] => [
  { name: 'bets', better, rounds },
];
const compare = (before: readonly MeasuredRow[], after: readonly MeasuredRow[], paired = false) =>
  compareRows(before, after, { paired })[0];

describe('a comparison of two results', () => {
  it('calls a row better or worse only if no noise explains the difference', () => {
    const before = row([100, 104, 96, 102, 98]);
    expect(compare(before, row([110, 114, 106, 112, 108]))).to.include({ verdict: 'better' });
    expect(compare(before, row([90, 94, 86, 92, 88]))).to.include({ verdict: 'worse' });
    expect(compare(before, row([99, 105, 97, 103, 101]))).to.include({ verdict: 'within noise' });
  });

  it('knows of which rows less is better', () => {
    const before = row([100, 104, 96, 102, 98], 'less');
    expect(compare(before, row([90, 94, 86, 92, 88], 'less'))).to.include({ verdict: 'better' });
  });

  it('gives the limits that tables of Mann and Whitney give', () => {
    // For 5 and 5 values, the critical value at 95 % is 2: the third ratio from either end.
    const [before, after] = [row([1, 1, 1, 1, 1]), row([1, 2, 3, 4, 5])];
    expect(compare(before, after)).to.deep.include({ before: 1, after: 3, ratio: 3, interval: [1, 5] });
    // For 6 and 6 it is 5: the sixth.
    const six = row([1, 2, 3, 4, 5, 6]);
    expect(compare(row([1, 1, 1, 1, 1, 1]), six)).to.deep.include({ interval: [1, 6] });
    // For 4 and 4 it is 0: the first.
    const overlapping = compare(row([10, 20, 30, 40]), row([10, 20, 30, 40]));
    expect(overlapping?.interval).to.deep.equal([10 / 40, 40 / 10]);
  });

  it('needs four rounds on either side, because three show nothing', () => {
    expect(compare(row([1, 2, 3]), row([10, 20, 30]))).to.include({ verdict: 'too few rounds' });
    expect(compare(row([1, 2, 3, 3]), row([10, 20, 30, 30]))).to.include({ verdict: 'better' });
  });

  it('compares round by round what took turns, so that a change of the machine is not noise', () => {
    const before = [100, 200, 50, 400, 80, 120];
    const slightlyLess = before.map((rate, round) => rate * (0.9 - round / 100));
    expect(compare(row(before), row(slightlyLess), true)).to.include({ verdict: 'worse' });
    expect(compare(row(before), row(slightlyLess))).to.include({ verdict: 'within noise' });
    const [five, lessOfFive] = [row(before.slice(1)), row(slightlyLess.slice(1))];
    expect(compare(five, lessOfFive, true)).to.include({ verdict: 'too few rounds' });
  });

  it('leaves out what only one of them has', () => {
    const other: readonly MeasuredRow[] = [{ name: 'replays', better: 'more', rounds: [1] }];
    expect(compareRows(row([1]), other, { paired: false })).to.deep.equal([]);
  });

  it('refuses a file that is not a result', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'coffer-compare-'));
    const path = join(folder.path, 'old.json');
    await writeFile(path, '{"routes":[]}');
    const failure = await readRows(path).catch((error: Error) => error.message);
    expect(failure).to.include('not a result of the bench');
  });
});
