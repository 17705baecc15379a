/** Parsers for the answers of nodes. */
import { z } from 'zod';
import type {
  Address,
  ChainAccount,
  ExecutedTransaction,
  KnownTransaction,
  Signature,
  Simulation,
  TransactionStatus,
} from '../port.ts';
import { errorText, u64Figure } from './losslessJson.ts';

const accountData = z
  .tuple([z.base64(), z.literal('base64')])
  .transform(([text]) => Uint8Array.from(Buffer.from(text, 'base64')));

const rpcAccount = z.object({
  owner: z.string(),
  lamports: u64Figure,
  data: accountData,
  executable: z.boolean(),
});
type RpcAccount = z.infer<typeof rpcAccount>;

const chainAccount = (address: Address, account: RpcAccount): ChainAccount => ({
  address,
  owner: account.owner,
  lamports: account.lamports,
  data: account.data,
  isExecutable: account.executable,
});

/** An account without lamports does not exist: a simulation shows closed accounts this way. */
const accountsAt = (addresses: readonly Address[], accounts: readonly (RpcAccount | null)[]) =>
  addresses.map((address, index) => {
    const account = accounts[index];
    return account && account.lamports > 0n ? chainAccount(address, account) : undefined;
  });

/** Of `getMultipleAccounts`. */
export const accountsAnswer = (addresses: readonly Address[]) =>
  z
    .object({ value: z.array(rpcAccount.nullable()).length(addresses.length) })
    .transform(({ value }) => accountsAt(addresses, value));

/** Of `getTokenAccountsByOwner`. */
export const ownedAccountsAnswer = z
  .object({ value: z.array(z.object({ pubkey: z.string(), account: rpcAccount })) })
  .transform(({ value }) => value.map(({ pubkey, account }) => chainAccount(pubkey, account)));

/** Null: it succeeded. Left out, it says nothing. */
const rpcError = z.union([z.null(), z.string(), z.record(z.string(), z.unknown())]);

const rpcStatus = z.object({
  slot: u64Figure,
  confirmations: z.int().nullable(),
  err: rpcError,
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).optional(),
});

/** Of `getSignatureStatuses`. */
export const statusesAnswer = (signatures: readonly Signature[]) =>
  z
    .object({ value: z.array(rpcStatus.nullable()).length(signatures.length) })
    .transform(({ value }) => value.map((status) => (status ? transactionStatus(status) : undefined)));

const transactionStatus = ({
  slot,
  confirmations,
  err,
  confirmationStatus,
}: z.infer<typeof rpcStatus>): TransactionStatus => ({
  slot,
  // Found in the history beyond the cache, it has no count of confirmations: it is final.
  commitment: confirmationStatus ?? (confirmations === null ? 'finalized' : 'processed'),
  error: err === null ? null : errorText(err),
});

/** Of `getLatestBlockhash`. */
export const blockhashAnswer = z.object({
  value: z.object({ blockhash: z.string(), lastValidBlockHeight: u64Figure }),
});

/** Of `getSignaturesForAddress`: newest first. */
export const signaturesAnswer = z.array(
  z
    .object({
      signature: z.string(),
      slot: u64Figure,
      err: rpcError,
      memo: z.string().nullable(),
    })
    .transform(
      ({ signature, slot, err, memo }): KnownTransaction => ({
        signature,
        slot,
        error: err === null ? null : errorText(err),
        memo,
      }),
    ),
);

/** Of `getRecentPrioritizationFees`: of each block. */
export const priorityFeesAnswer = z
  .array(z.object({ prioritizationFee: u64Figure }))
  .transform((blocks) => blocks.map(({ prioritizationFee }) => prioritizationFee));

/** Of `simulateTransaction`. */
export const simulationAnswer = (addresses: readonly Address[]) =>
  z
    .object({
      value: z.object({
        err: z.unknown(),
        logs: z.array(z.string()).nullish(),
        accounts: z.array(rpcAccount.nullable()).nullish(),
        unitsConsumed: u64Figure.nullish(),
      }),
    })
    .transform(({ value }, context): Simulation => {
      const error = value.err === null || value.err === undefined ? null : errorText(value.err);
      const accounts = value.accounts ?? [];
      if (error === null && accounts.length !== addresses.length) {
        context.addIssue({ code: 'custom', message: 'not the accounts that were asked for' });
        return z.NEVER;
      }
      return {
        error,
        logs: value.logs ?? [],
        unitsConsumed: value.unitsConsumed ?? 0n,
        accounts: error === null ? accountsAt(addresses, accounts) : [],
      };
    });

const tokenBalance = z.object({
  accountIndex: z.int().nonnegative(),
  mint: z.string(),
  owner: z.string(),
  uiTokenAmount: z.object({ amount: z.string().regex(/^\d+$/).transform(BigInt) }),
});
type TokenBalance = z.infer<typeof tokenBalance>;

const rpcTransaction = z.object({
  slot: u64Figure,
  transaction: z.object({
    message: z.object({
      header: z.object({ numRequiredSignatures: z.int().positive() }),
      accountKeys: z.array(z.string()).min(1),
    }),
  }),
  meta: z.object({
    err: z.unknown(),
    fee: u64Figure,
    preBalances: z.array(u64Figure),
    postBalances: z.array(u64Figure),
    preTokenBalances: z.array(tokenBalance),
    postTokenBalances: z.array(tokenBalance),
    loadedAddresses: z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish(),
  }),
});

/** Of `getTransaction`: null if the node does not know it. */
export const transactionAnswer = (signature: Signature) =>
  rpcTransaction.nullable().transform((known, context): ExecutedTransaction | null => {
    if (!known) return null;
    const { message } = known.transaction;
    const { err, loadedAddresses, ...meta } = known.meta;
    const addresses = [
      ...message.accountKeys,
      ...(loadedAddresses?.writable ?? []),
      ...(loadedAddresses?.readonly ?? []),
    ];
    const lamports = addresses.flatMap((address, index) => {
      const before = meta.preBalances[index];
      const after = meta.postBalances[index];
      return before === undefined || after === undefined ? [] : [{ address, before, after }];
    });
    const tokens = tokenChanges(addresses, meta.preTokenBalances, meta.postTokenBalances);
    const isWhole = [meta.preBalances, meta.postBalances].every(({ length }) => length === addresses.length);
    if (!isWhole || !tokens) {
      context.addIssue({ code: 'custom', message: 'not the balances of its accounts' });
      return z.NEVER;
    }
    return {
      signature,
      slot: known.slot,
      error: err === null || err === undefined ? null : errorText(err),
      signers: message.accountKeys.slice(0, message.header.numRequiredSignatures),
      feeLamports: meta.fee,
      lamports,
      tokens,
    };
  });

/**
 * An account that was created or closed is on one side only. One that was closed and created again for
 * another owner or mint counts as two: what the first held is gone, what the second holds is new.
 */
function tokenChanges(
  addresses: readonly Address[],
  before: readonly TokenBalance[],
  after: readonly TokenBalance[],
): ExecutedTransaction['tokens'] | undefined {
  const changes = new Map<string, ExecutedTransaction['tokens'][number]>();
  for (const [side, balances] of [
    ['before', before],
    ['after', after],
  ] as const) {
    for (const { accountIndex, mint, owner, uiTokenAmount } of balances) {
      const account = addresses[accountIndex];
      if (account === undefined) return undefined;
      const key = `${account} ${owner} ${mint}`;
      const known = changes.get(key) ?? { account, owner, mint, before: 0n, after: 0n };
      changes.set(key, { ...known, [side]: uiTokenAmount.amount });
    }
  }
  return [...changes.values()];
}
