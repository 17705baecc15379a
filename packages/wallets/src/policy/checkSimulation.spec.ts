/** The sums, case by case: accounts before and after. */
import {
  type Address,
  type ChainAccount,
  LOOKUP_TABLE_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '@coffer/solana';
import { ACCOUNT_SIZE, AccountLayout, NATIVE_MINT } from '@solana/spl-token';
import { expect } from 'chai';
import { newAddress } from '../testing/attacks/liteSvmChain.ts';
import { PublicKey } from '../testing/attacks/scene.ts';
import { checkSimulation } from './checkSimulation.ts';
import type { Declared } from './terms.ts';

const [wallet, thief, mint, held, second, theirs] = Array.from({ length: 6 }, () =>
  newAddress().toBase58(),
) as [Address, Address, Address, Address, Address, Address];
const NATIVE = NATIVE_MINT.toBase58();
const RENT = 2_039_280n;

interface Tokens {
  readonly owner?: Address;
  readonly mint?: Address;
  readonly amount?: bigint;
  readonly lamports?: bigint;
  readonly delegate?: Address;
  readonly delegatedAmount?: bigint;
  readonly closeAuthority?: Address;
  readonly program?: Address;
}

const coins = (address: Address, lamports: bigint, given: Partial<ChainAccount> = {}): ChainAccount => ({
  address,
  owner: SYSTEM_PROGRAM,
  lamports,
  data: new Uint8Array(),
  isExecutable: false,
  ...given,
});

function tokens(address: Address, given: Tokens): ChainAccount {
  const { owner = wallet, amount = 0n, delegate, closeAuthority, program = TOKEN_PROGRAM } = given;
  const ofMint = given.mint ?? mint;
  const isNative = ofMint === NATIVE;
  const data = Buffer.alloc(ACCOUNT_SIZE);
  AccountLayout.encode(
    {
      mint: new PublicKey(ofMint),
      owner: new PublicKey(owner),
      amount,
      delegateOption: delegate ? 1 : 0,
      delegate: new PublicKey(delegate ?? owner),
      delegatedAmount: given.delegatedAmount ?? 0n,
      state: 1,
      isNativeOption: isNative ? 1 : 0,
      isNative: RENT,
      closeAuthorityOption: closeAuthority ? 1 : 0,
      closeAuthority: new PublicKey(closeAuthority ?? owner),
    },
    data,
  );
  return {
    address,
    owner: program,
    lamports: given.lamports ?? (isNative ? RENT + amount : RENT),
    data,
    isExecutable: false,
  };
}

const nothing: Declared = {
  feeLamports: 0n,
  priorityLamports: 0n,
  lamports: [],
  tokens: [],
  rentOf: [],
  foreignPrograms: [],
};
const sent = (source: Address, destination: Address, amount: bigint): Partial<Declared> => ({
  tokens: [{ source, destination, amount }],
});

function reasonsOf(
  before: readonly ChainAccount[],
  after: readonly ChainAccount[],
  declared: Partial<Declared> = {},
  trustsForeignPrograms = false,
) {
  const stateOf = (accounts: readonly ChainAccount[]) =>
    new Map(accounts.map((account) => [account.address, account]));
  return checkSimulation(stateOf(before), stateOf(after), {
    wallet,
    declared: { ...nothing, ...declared },
    limits: { priorityFeeLamports: 0n, rentOfOthersLamports: 2n * RENT },
    trustsForeignPrograms,
  });
}

interface Case {
  readonly what: string;
  readonly before: readonly ChainAccount[];
  readonly after: readonly ChainAccount[];
  readonly declared?: Partial<Declared>;
  readonly reasons: readonly string[];
}

const purse = coins(wallet, 100n);
const CASES: readonly Case[] = [
  { what: 'nothing happens', before: [purse], after: [purse], reasons: [] },
  { what: 'something comes in', before: [purse], after: [coins(wallet, 101n)], reasons: [] },
  {
    what: 'a wallet that did not exist gets something',
    before: [],
    after: [coins(wallet, 101n)],
    reasons: [],
  },
  {
    what: 'the fee is paid',
    before: [purse],
    after: [coins(wallet, 95n)],
    declared: { feeLamports: 5n },
    reasons: [],
  },
  {
    what: 'one lamport more than the fee',
    before: [purse],
    after: [coins(wallet, 94n)],
    declared: { feeLamports: 5n },
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'all coins are sent, as declared',
    before: [purse],
    after: [],
    declared: { lamports: [{ to: thief, lamports: 100n }] },
    reasons: [],
  },
  {
    what: 'a payment to itself explains nothing',
    before: [purse],
    after: [coins(wallet, 50n)],
    declared: { lamports: [{ to: wallet, lamports: 50n }] },
    reasons: ['unexplained_outflow'],
  },
  {
    what: "a payment into the wallet's own account explains nothing",
    before: [purse, tokens(held, { mint: NATIVE })],
    after: [coins(wallet, 50n), tokens(held, { mint: NATIVE })],
    declared: { lamports: [{ to: held, lamports: 50n }] },
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'coins are wrapped',
    before: [purse, tokens(held, { mint: NATIVE })],
    after: [coins(wallet, 50n), tokens(held, { mint: NATIVE, amount: 50n })],
    declared: { lamports: [{ to: held, lamports: 50n }] },
    reasons: [],
  },
  {
    what: 'coins are unwrapped',
    before: [purse, tokens(held, { mint: NATIVE, amount: 50n })],
    after: [coins(wallet, 150n + RENT)],
    reasons: [],
  },
  {
    what: 'coins are unwrapped in favour of somebody else',
    before: [purse, tokens(held, { mint: NATIVE, amount: 50n })],
    after: [purse],
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'wrapped coins are sent, as declared',
    before: [purse, tokens(held, { mint: NATIVE, amount: 50n })],
    after: [purse, tokens(held, { mint: NATIVE, amount: 20n })],
    declared: sent(held, theirs, 30n),
    reasons: [],
  },
  {
    what: "wrapped coins go to the wallet's own account, which is closed in favour of somebody else",
    before: [purse, tokens(held, { mint: NATIVE, amount: 50n }), tokens(second, { mint: NATIVE })],
    after: [coins(wallet, 100n + RENT), tokens(held, { mint: NATIVE, amount: 20n })],
    declared: sent(held, second, 30n),
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'tokens are sent, as declared',
    before: [purse, tokens(held, { amount: 50n })],
    after: [purse, tokens(held, { amount: 20n })],
    declared: sent(held, theirs, 30n),
    reasons: [],
  },
  {
    what: 'one token more than declared',
    before: [purse, tokens(held, { amount: 50n })],
    after: [purse, tokens(held, { amount: 19n })],
    declared: sent(held, theirs, 30n),
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'undeclared tokens of Token-2022',
    before: [purse, tokens(held, { amount: 50n, program: TOKEN_2022_PROGRAM })],
    after: [purse, tokens(held, { amount: 49n, program: TOKEN_2022_PROGRAM })],
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'tokens from an account that is not ours explain nothing',
    before: [purse, tokens(held, { amount: 50n }), tokens(theirs, { owner: thief, amount: 50n })],
    after: [purse, tokens(held, { amount: 20n }), tokens(theirs, { owner: thief, amount: 80n })],
    declared: sent(theirs, second, 30n),
    reasons: ['unexplained_outflow'],
  },
  {
    what: "tokens between the wallet's own accounts explain nothing",
    before: [purse, tokens(held, { amount: 50n }), tokens(second, {})],
    after: [purse, tokens(held, { amount: 20n }), tokens(second, {})],
    declared: sent(held, second, 30n),
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'tokens of one mint do not explain those of another',
    before: [purse, tokens(held, { amount: 50n }), tokens(second, { mint: theirs, amount: 50n })],
    after: [purse, tokens(held, { amount: 50n }), tokens(second, { mint: theirs, amount: 20n })],
    declared: sent(held, thief, 30n),
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'tokens go to a new account of the same owner with a delegate',
    before: [purse, tokens(held, { amount: 50n })],
    after: [purse, tokens(held, {}), tokens(second, { amount: 50n, delegate: thief })],
    declared: sent(held, second, 50n),
    // Declared like a payment to anybody: no more than that is lost.
    reasons: [],
  },
  {
    what: 'the owner changes',
    before: [purse, tokens(held, {})],
    after: [purse, tokens(held, { owner: thief })],
    declared: { lamports: [{ to: thief, lamports: RENT }] },
    reasons: ['account_handed_over'],
  },
  {
    what: 'a delegate is new',
    before: [purse, tokens(held, {})],
    after: [purse, tokens(held, { delegate: thief, delegatedAmount: 1n })],
    reasons: ['account_handed_over'],
  },
  {
    what: 'a delegate may take more',
    before: [purse, tokens(held, { delegate: thief, delegatedAmount: 1n })],
    after: [purse, tokens(held, { delegate: thief, delegatedAmount: 2n })],
    reasons: ['account_handed_over'],
  },
  {
    what: 'a delegate is unchanged',
    before: [purse, tokens(held, { delegate: thief, delegatedAmount: 2n })],
    after: [purse, tokens(held, { delegate: thief, delegatedAmount: 2n })],
    reasons: [],
  },
  {
    what: 'a delegate is gone',
    before: [purse, tokens(held, { delegate: thief, delegatedAmount: 1n })],
    after: [purse, tokens(held, {})],
    reasons: [],
  },
  {
    what: 'somebody else may close an account',
    before: [purse, tokens(held, {})],
    after: [purse, tokens(held, { closeAuthority: thief })],
    reasons: ['account_handed_over'],
  },
  {
    what: 'an account now belongs to another program',
    before: [purse, tokens(held, {})],
    after: [purse, { ...tokens(held, {}), owner: thief }],
    declared: { lamports: [{ to: thief, lamports: RENT }] },
    reasons: ['account_handed_over'],
  },
  {
    what: 'the wallet belongs to a program',
    before: [purse],
    after: [coins(wallet, 100n, { owner: thief })],
    reasons: ['wallet_reassigned'],
  },
  {
    what: 'the wallet has data now',
    before: [purse],
    after: [coins(wallet, 100n, { data: new Uint8Array(8) })],
    reasons: ['wallet_reassigned'],
  },
  {
    what: "rent for somebody else's account, as declared",
    before: [coins(wallet, 3n * RENT)],
    after: [coins(wallet, 2n * RENT), tokens(theirs, { owner: thief })],
    declared: { rentOf: [theirs] },
    reasons: [],
  },
  {
    what: 'rent twice for one account',
    before: [coins(wallet, 3n * RENT)],
    after: [coins(wallet, RENT), tokens(theirs, { owner: thief })],
    declared: { rentOf: [theirs, theirs] },
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'rent for an account that already exists',
    before: [coins(wallet, 3n * RENT), tokens(theirs, { owner: thief })],
    after: [coins(wallet, 2n * RENT), tokens(theirs, { owner: thief, lamports: 2n * RENT })],
    declared: { rentOf: [theirs] },
    reasons: ['unexplained_outflow'],
  },
  {
    what: 'more rent than the limit',
    before: [coins(wallet, 3n * RENT)],
    after: [coins(wallet, RENT - 1n), tokens(theirs, { owner: thief, lamports: 2n * RENT + 1n })],
    declared: { rentOf: [theirs] },
    reasons: ['rent_of_others'],
  },
  {
    what: 'rent for a lookup table that grows',
    before: [purse, coins(theirs, 10n, { owner: LOOKUP_TABLE_PROGRAM, data: new Uint8Array(56) })],
    after: [
      coins(wallet, 90n),
      coins(theirs, 20n, { owner: LOOKUP_TABLE_PROGRAM, data: new Uint8Array(88) }),
    ],
    declared: { rentOf: [theirs] },
    reasons: [],
  },
];

describe('a simulation', () => {
  for (const { what, before, after, declared, reasons } of CASES) {
    it(`${reasons.length > 0 ? 'is refused' : 'is accepted'}: ${what}`, () =>
      expect(reasonsOf(before, after, declared)).to.deep.equal(reasons));
  }

  it('of a program that the app trusts may take undeclared funds, but no authority', () => {
    expect(
      reasonsOf([purse, tokens(held, { amount: 9n })], [coins(wallet, 1n), tokens(held, {})], {}, true),
    ).to.deep.equal([]);
    expect(
      reasonsOf([purse, tokens(held, {})], [purse, tokens(held, { owner: thief })], {}, true),
    ).to.deep.equal(['account_handed_over']);
  });
});
