/** Accounts, and the token accounts among them, as they were in the slot that the commitment names. */
import { mintOf, type TokenAccount, tokenAccountOf, uiAmountOf } from '../tokens.ts';
import type { AccountState } from '../vm.ts';
import { accountJson } from './accountJson.ts';
import { type Method, type RpcContext, slotFor, withContext } from './context.ts';
import { invalidParams } from './errors.ts';
import { asAddress, type Settings } from './params.ts';

const MAXIMUM_ACCOUNTS = 100;

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
    const filter = filterOf(params.settings(1));
    const settings = params.settings(2);
    const slot = slotFor(context, settings);
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
  getTokenAccountBalance: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    const account = (address: string) => context.ledger.accountAt(address, slot);
    const state = account(params.address(0));
    if (!state) throw invalidParams('could not find account');
    const token = tokenAccountOf(state);
    const mint = token && mintOf(account(token.mint));
    if (!token || !mint) throw invalidParams('not a Token account');
    return withContext(slot, uiAmountOf(token.amount, mint.decimals));
  },
  getTokenSupply: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    const state: AccountState | undefined = context.ledger.accountAt(params.address(0), slot);
    if (!state) throw invalidParams('could not find account');
    const mint = mintOf(state);
    if (!mint) throw invalidParams('not a Token mint');
    return withContext(slot, uiAmountOf(mint.supply, mint.decimals));
  },
};

/** Null where there is no account. */
function viewOf({ ledger }: RpcContext, slot: bigint, { encoding, dataSlice }: Settings) {
  const account = (address: string) => ledger.accountAt(address, slot);
  return (address: string) => {
    const state = account(address);
    return state ? accountJson(state, { encoding: encoding ?? undefined, dataSlice, account }) : null;
  };
}

function filterOf({ mint, programId }: Settings): (token: TokenAccount) => boolean {
  if (mint) {
    const wanted = asAddress(mint);
    return (token) => token.mint === wanted;
  }
  if (!programId) throw invalidParams('a filter by mint or programId is needed');
  const wanted = asAddress(programId);
  return (token) => token.program === wanted;
}
