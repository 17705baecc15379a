/** Compares the chain with the books, case by case. */
import { expect } from 'chai';
import {
  type CurrencyOfChain,
  currenciesOnChain,
  type EndedMove,
  endedMoveDiscrepancy,
  type MoveOnChain,
  transferVerdict,
  treasuryChanges,
} from './comparisons.ts';

const SOL: CurrencyOfChain = { id: 1, code: 'SOL', mint: 'native' };
const GEM: CurrencyOfChain = { id: 3, code: 'GEM', mint: 'mint-of-gem' };

describe('the funds of a treasury', () => {
  const cases: readonly (readonly [
    what: string,
    onChain: bigint,
    inFlight: bigint,
    liabilities: bigint,
    surplus: bigint,
    shortfall: bigint,
  ])[] = [
    ['cover what is owed', 10n, 0n, 10n, 0n, 0n],
    ['are more than is owed', 12n, 0n, 10n, 2n, 0n],
    ['are less than is owed', 7n, 0n, 10n, -3n, 3n],
    ['have left for players, who are owed them still', 7n, 3n, 10n, 0n, 0n],
    ['are short by what nobody has on its way', 6n, 3n, 10n, -1n, 1n],
  ];
  for (const [what, onChain, inFlight, liabilities, surplus, shortfall] of cases) {
    it(what, () => {
      const figures = { onChain, inFlight, liabilities };
      expect(currenciesOnChain([{ currency: SOL, figures }])).to.deep.equal([
        { currencyId: 1, code: 'SOL', mint: 'native', ...figures, surplus, shortfall },
      ]);
    });
  }

  it('are not counted twice where two currencies share them', () => {
    const figures = { onChain: 10n, inFlight: 0n, liabilities: 6n };
    const chip = { id: 2, code: 'CHIP', mint: 'native' };
    const found = currenciesOnChain([
      { currency: SOL, figures },
      { currency: chip, figures },
      { currency: GEM, figures },
    ]);
    expect(found.map(({ shortfall }) => shortfall)).to.deep.equal([2n, 2n, 0n]);
  });
});

describe('what a transaction did to a treasury', () => {
  const lamports = [
    { address: 'treasury', before: 10n, after: 4n },
    { address: 'player', before: 0n, after: 6n },
  ];
  const held = { account: 'account-1', owner: 'treasury', mint: 'mint-of-gem' };

  it('is told in each mint of its currencies, over all its accounts', () => {
    const tokens = [
      { ...held, before: 5n, after: 8n },
      { ...held, account: 'account-2', before: 0n, after: 4n },
      { ...held, owner: 'player', before: 7n, after: 0n },
      { ...held, mint: 'dust', before: 0n, after: 9n },
    ];
    expect(treasuryChanges({ lamports, tokens }, 'treasury', ['native', 'mint-of-gem'])).to.deep.equal([
      { mint: 'native', change: -6n },
      { mint: 'mint-of-gem', change: 7n },
    ]);
  });

  it('is all of an account that was given away', () => {
    const tokens = [
      { ...held, before: 5n, after: 0n },
      { ...held, owner: 'thief', before: 0n, after: 5n },
    ];
    expect(treasuryChanges({ lamports: [], tokens }, 'treasury', ['mint-of-gem'])).to.deep.equal([
      { mint: 'mint-of-gem', change: -5n },
    ]);
  });

  it('is nothing where only others are named', () => {
    expect(treasuryChanges({ lamports, tokens: [] }, 'stranger', ['native'])).to.deep.equal([]);
  });
});

describe('a transfer of a treasury', () => {
  const verdictOf = (change: bigint, byMoves: bigint) => {
    const found = transferVerdict({ signature: 'signature', mint: 'native', change, byMoves });
    if (found.verdict !== 'unknown') return found;
    expect(found.discrepancy).to.include({ check: 'chain/unknown_transfer', subject: 'signature' });
    const { expected, actual } = found.discrepancy;
    return `${expected?.change ?? 'none'} but ${actual?.change}`;
  };

  it('belongs to the moves that say the same', () => {
    expect(verdictOf(-5n, -5n)).to.deep.equal({ verdict: 'ofMoves' });
    expect(verdictOf(5n, 5n)).to.deep.equal({ verdict: 'ofMoves' });
  });

  it('is unknown where it leaves without a move, or is another than the move says', () => {
    expect(verdictOf(-5n, 0n)).to.equal('none but -5');
    expect(verdictOf(-5n, -4n)).to.equal('-4 but -5');
    expect(verdictOf(-5n, -6n)).to.equal('-6 but -5');
    expect(verdictOf(-5n, 5n)).to.equal('5 but -5');
    expect(verdictOf(5n, 10n), 'two deposits claim it').to.equal('10 but 5');
  });

  it('is surplus where it comes without a move, or is more than the move says', () => {
    expect(verdictOf(5n, 0n)).to.deep.equal({ verdict: 'unattributed', amount: 5n });
    expect(verdictOf(5n, 3n)).to.deep.equal({ verdict: 'unattributed', amount: 2n });
    expect(verdictOf(5n, -3n)).to.deep.equal({ verdict: 'unattributed', amount: 5n });
  });
});

describe('a move that is over', () => {
  const move: EndedMove = {
    moveId: 'mov_1',
    status: 'confirmed',
    signature: 'signature',
    mint: 'native',
    amount: 5n,
    fromAddress: 'player',
    toAddress: 'treasury',
    slot: 7n,
    requestedAt: new Date(0),
  };
  const failed: EndedMove = { ...move, status: 'failed', signature: null, slot: null };
  const told = (ended: EndedMove, found: MoveOnChain) => {
    const discrepancy = endedMoveDiscrepancy(ended, found);
    return discrepancy && `${discrepancy.check} ${JSON.stringify(discrepancy.actual)}`;
  };
  const moved = { outcome: 'moved', signature: 'other' } as const;
  const didFail = { outcome: 'failed', signature: 'signature' } as const;

  const cases: readonly (readonly [what: string, move: EndedMove, found: MoveOnChain, told?: string])[] = [
    ['confirmed, and moved', move, moved],
    ['confirmed, and not on the chain', move, undefined, 'chain/confirmed_moves null'],
    ['confirmed, and no node can tell', move, 'untold'],
    [
      'confirmed, and failed on the chain',
      move,
      didFail,
      'chain/confirmed_moves {"signature":"signature","outcome":"failed"}',
    ],
    ['failed, and not on the chain', failed, undefined],
    ['failed on the chain', failed, didFail],
    ['failed, and no node can tell', failed, 'untold'],
    ['failed, and moved', failed, moved, 'chain/failed_moves {"signature":"other"}'],
  ];
  for (const [what, ended, found, expected] of cases) {
    it(what, () => {
      expect(told(ended, found)).to.equal(expected);
    });
  }

  it('is expected as the books have it', () => {
    expect(endedMoveDiscrepancy(move, undefined)?.expected).to.deep.equal({
      signature: 'signature',
      from: 'player',
      to: 'treasury',
      mint: 'native',
      amount: '5',
    });
  });
});
