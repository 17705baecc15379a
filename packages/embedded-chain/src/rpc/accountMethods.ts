/** Accounts, and the token accounts among them, as they were in the slot that the commitment names. */
import { isTokenProgram, mintOf, type TokenAccount, tokenAccountOf, uiAmountOf } from '../tokens.ts';
import type { AccountState } from '../vm.ts';
import { accountFilter } from './accountFilters.ts';
import { accountJson } from './accountJson.ts';
import { type Method, type RpcContext, slotFor, withContext } from './context.ts';
import { invalidParams, scanTooLarge } from './errors.ts';
import { asAddress, type Settings } from './params.ts';

const MAXIMUM_ACCOUNTS = 100;
const LARGEST_ACCOUNTS = 20;
/** Per answer; more would hold up everybody else. */
const MAXIMUM_SCANNED_BYTES = 64 * 1024 * 1024;
/** The size of an account in JSON, without its data. */
const ACCOUNT_BYTES = 200;

type Keyed = readonly [address: string, state: AccountState];

export const accountMethods: Readonly<Record<string, Method>> = {
  getBalance: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    return withContext(slot, context.ledger.accountAt(params.address(0), slot)?.lamports ?? 0n);
  },
  getAccountInfo: (params, context) => {
    const settings = params.settings(1);
    const slot = slotFor(context, settings);
    return withContext(slot, viewOf(context, slot, settings)(params.address(0)));
  },
  getMultipleAccounts: (params, context) => {
    const settings = params.settings(1);
    const slot = slotFor(context, settings);
    const addresses = params.addresses(0, MAXIMUM_ACCOUNTS);
    return withContext(slot, addresses.map(viewOf(context, slot, { encoding: 'base64', ...settings })));
  },
  getTokenAccountsByOwner: (params, context) => {
    const owner = params.address(0);
    const settings = params.settings(2);
    const slot = slotFor(context, settings);
    const filter = filterOf(params.settings(1), slot, context);
    const view = viewOf(context, slot, settings);
    const found = context.ledger.tokenAccountsOf(owner).filter((address) => {
      const token = tokenAccountOf(context.ledger.accountAt(address, slot));
      return token?.owner === owner && filter(token);
    });
    return withContext(
      slot,
      found.map((pubkey) => ({ pubkey, account: view(pubkey) })),
    );
  },
  getTokenAccountsByDelegate: (params, context) => {
    const settings = params.settings(2);
    const slot = slotFor(context, settings);
    const filter = filterOf(params.settings(1), slot, context);
    const found = inOrder(context.ledger.tokenAccountsOfDelegate(params.address(0), slot)).filter(
      ([, state]) => {
        const token = tokenAccountOf(state);
        return token && filter(token);
      },
    );
    return withContext(slot, keyedJson(found, settings, slot, context));
  },
  getTokenLargestAccounts: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    const mint = params.address(0);
    const { decimals } = mintAt(mint, slot, context);
    const largest: { readonly address: string; readonly amount: bigint }[] = [];
    for (const [address, state] of context.ledger.tokenAccountsOfMint(mint, slot)) {
      largest.push({ address, amount: tokenAccountOf(state)?.amount ?? 0n });
    }
    largest.sort((one, other) => (one.amount < other.amount ? 1 : one.amount > other.amount ? -1 : 0));
    return withContext(
      slot,
      largest
        .slice(0, LARGEST_ACCOUNTS)
        .map(({ address, amount }) => ({ address, ...uiAmountOf(amount, decimals) })),
    );
  },
  getProgramAccounts: (params, context) => {
    const program = params.address(0);
    const settings = params.settings(1);
    const slot = slotFor(context, settings);
    const isWanted = accountFilter(settings);
    const found: Keyed[] = [];
    let bytes = 0;
    for (const [address, state] of context.ledger.programAccounts(program, slot)) {
      if (!isWanted(state)) continue;
      found.push([address, state]);
      bytes += ACCOUNT_BYTES + Math.min(state.data.length, settings.dataSlice?.length ?? state.data.length);
      if (bytes > MAXIMUM_SCANNED_BYTES) throw scanTooLarge();
    }
    const sorted = settings.sortResults === false ? found : inOrder(found);
    const json = keyedJson(sorted, settings, slot, context);
    return settings.withContext ? withContext(slot, json) : json;
  },
  /** What the faucet still has does not circulate. */
  getSupply: (params, context) => {
    const settings = params.settings(0);
    const slot = slotFor(context, settings);
    const { address } = context.faucet;
    const total = context.ledger.totalLamports(slot);
    const nonCirculating = context.ledger.accountAt(address, slot)?.lamports ?? 0n;
    const nonCirculatingAccounts = settings.excludeNonCirculatingAccountsList ? [] : [address];
    const circulating = total - nonCirculating;
    return withContext(slot, { total, circulating, nonCirculating, nonCirculatingAccounts });
  },
  getTokenAccountBalance: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    const account = (address: string) => context.ledger.accountAt(address, slot);
    const state = account(params.address(0));
    if (!state) throw invalidParams('Invalid param: could not find account');
    const token = tokenAccountOf(state);
    const mint = token && mintOf(account(token.mint));
    if (!token || !mint) throw invalidParams('Invalid param: not a Token account');
    return withContext(slot, uiAmountOf(token.amount, mint.decimals));
  },
  getTokenSupply: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    const mint = mintAt(params.address(0), slot, context, 'account');
    return withContext(slot, uiAmountOf(mint.supply, mint.decimals));
  },
};

/** Null if there is no account. */
function viewOf({ ledger }: RpcContext, slot: bigint, { encoding, dataSlice }: Settings) {
  const account = (address: string) => ledger.accountAt(address, slot);
  return (address: string) => {
    const state = account(address);
    return state ? accountJson(state, { encoding: encoding ?? undefined, dataSlice, account }) : null;
  };
}

function keyedJson(found: readonly Keyed[], settings: Settings, slot: bigint, { ledger }: RpcContext) {
  const account = (address: string) => ledger.accountAt(address, slot);
  const view = { encoding: settings.encoding ?? undefined, dataSlice: settings.dataSlice, account };
  return found.map(([pubkey, state]) => ({ pubkey, account: accountJson(state, view) }));
}

/** By their bytes: digits of base58 are in the order of their values, and each leading 1 stands for a byte of zero. */
function inOrder(found: Iterable<Keyed>): readonly Keyed[] {
  const digits = (address: string) => address.replace(/^1+/, '');
  return [...found]
    .map((keyed) => ({ keyed, key: digits(keyed[0]) }))
    .sort(({ key: one }, { key: other }) => one.length - other.length || (one < other ? -1 : 1))
    .map(({ keyed }) => keyed);
}

function mintAt(address: string, slot: bigint, { ledger }: RpcContext, called = 'mint') {
  const state = ledger.accountAt(address, slot);
  if (!state) throw invalidParams(`Invalid param: could not find ${called}`);
  const mint = mintOf(state);
  if (!mint) throw invalidParams('Invalid param: not a Token mint');
  return mint;
}

function filterOf({ mint, programId }: Settings, slot: bigint, context: RpcContext) {
  if (mint) {
    const wanted = asAddress(mint);
    mintAt(wanted, slot, context);
    return (token: TokenAccount) => token.mint === wanted;
  }
  if (!programId) throw invalidParams('Invalid params: a filter by mint or programId is needed');
  const wanted = asAddress(programId);
  if (!isTokenProgram(wanted)) throw invalidParams('Invalid param: unrecognized Token program id');
  return (token: TokenAccount) => token.program === wanted;
}
