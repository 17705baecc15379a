/** What a transaction did, as answered by `getTransaction`. */
import { isUtf8 } from 'node:buffer';
import { encodeBase58 } from '@coffer/kernel';
import { mintOf, tokenAccountOf, uiAmountOf } from '../tokens.ts';
import type { AccountState, Execution, InnerInstruction } from '../vm.ts';
import type { Message } from '../wire.ts';
import type { NamedAccounts } from './accountsOf.ts';

export const MEMO_PROGRAMS: readonly (string | undefined)[] = [
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
];

type States = readonly (AccountState | undefined)[];

export interface ExecutedFacts {
  readonly feeLamports: bigint;
  readonly execution: Execution;
  readonly accounts: NamedAccounts;
  /** In the order of the accounts. */
  readonly before: States;
  readonly after: States;
  readonly account: (address: string) => AccountState | undefined;
}

export function metaOf(facts: ExecutedFacts) {
  const { execution, accounts, before, after } = facts;
  return {
    err: execution.error,
    status: execution.error === null ? { Ok: null } : { Err: execution.error },
    fee: facts.feeLamports,
    preBalances: before.map((state) => state?.lamports ?? 0n),
    postBalances: after.map((state) => state?.lamports ?? 0n),
    innerInstructions: innerInstructionsOf(execution.innerInstructions),
    logMessages: execution.logs,
    preTokenBalances: tokenBalancesOf(before, facts),
    postTokenBalances: tokenBalancesOf(after, facts),
    rewards: [],
    loadedAddresses: accounts.loaded,
    computeUnitsConsumed: execution.unitsConsumed,
    ...returnDataOf(execution),
  };
}

function returnDataOf({ returnData }: Execution) {
  if (!returnData) return {};
  const data = [Buffer.from(returnData.data).toString('base64'), 'base64'];
  return { returnData: { programId: returnData.program, data } };
}

function innerInstructionsOf(lists: readonly (readonly InnerInstruction[])[]) {
  return lists.flatMap((list, index) =>
    list.length === 0
      ? []
      : [
          {
            index,
            instructions: list.map((inner) => ({
              programIdIndex: inner.programIndex,
              accounts: inner.accounts,
              data: encodeBase58(inner.data),
              stackHeight: inner.stackHeight,
            })),
          },
        ],
  );
}

function tokenBalancesOf(states: States, { account }: ExecutedFacts) {
  return states.flatMap((state, accountIndex) => {
    const token = tokenAccountOf(state);
    const mint = token && mintOf(account(token.mint));
    if (!token || !mint) return [];
    const uiTokenAmount = uiAmountOf(token.amount, mint.decimals);
    return [{ accountIndex, mint: token.mint, owner: token.owner, programId: token.program, uiTokenAmount }];
  });
}

/** All memos, each after its length in bytes, as nodes index them; null if there are none. */
export function memoOf({ staticKeys, instructions }: Message): string | null {
  const memos = instructions
    .filter(({ programIndex }) => MEMO_PROGRAMS.includes(staticKeys[programIndex]))
    .map(
      ({ data }) => `[${data.length}] ${isUtf8(data) ? Buffer.from(data).toString('utf8') : '(unparsable)'}`,
    );
  return memos.length === 0 ? null : memos.join('; ');
}
