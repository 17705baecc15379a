/** What the treasury holds on the chain, and whether a transfer is worth requesting. */
import assert from 'node:assert/strict';
import {
  type Address,
  associatedTokenAddress,
  type Chain,
  planTransfer,
  type Transfer,
  type TransferProblem,
} from '@coffer/solana';
import { reject } from './errors.ts';

/** Counts finalized blocks, and only what moves can be paid from. `mint` is `native` or a mint address. */
export async function finalFundsOf(chain: Chain, owner: Address, mint: string): Promise<bigint> {
  if (mint === 'native') {
    const [account] = await chain.accounts([owner], 'finalized');
    return account?.lamports ?? 0n;
  }
  const accounts = await chain.tokenAccountsOf(owner, 'finalized');
  const account = accounts.find((one) => one.address === associatedTokenAddress(owner, mint, one.program));
  return account?.amount ?? 0n;
}

/**
 * Refuses what the chain would refuse now, so that nothing of it is recorded. If things change before it is carried
 * out, the driver of moves finds that.
 */
export async function requirePossible(
  chain: Chain,
  transfer: Transfer,
  insufficient: 'treasury/insufficient_wallet_funds' | 'treasury/insufficient_treasury',
) {
  const plan = await planTransfer(chain, transfer);
  if (plan.outcome !== 'possible') throw rejectionOf(plan, transfer.amount, insufficient);
  return plan;
}

function rejectionOf(
  problem: TransferProblem,
  amount: bigint,
  insufficient: Parameters<typeof requirePossible>[2],
) {
  switch (problem.outcome) {
    case 'insufficientFunds':
      return reject(insufficient, { available: problem.available, amount });
    case 'belowRentMinimum':
      return reject('treasury/below_rent_minimum', { minimum: problem.minimum });
    case 'unacceptableRecipient':
      return reject('treasury/recipient_refused', { reason: problem.reason });
    case 'unsupportedMint':
      return reject('treasury/mint_not_supported', { reason: problem.reason });
    case 'frozen':
      return reject('treasury/account_frozen', { account: problem.account });
    default:
      throw new assert.AssertionError({ message: 'no such problem', actual: problem satisfies never });
  }
}
