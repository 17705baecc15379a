/** Gifts of the chain's own faucet. */
import { mintOf } from '../tokens.ts';
import { describeTransactionError } from '../transactionError.ts';
import { readTransaction } from '../wire.ts';
import type { Method, RpcContext } from './context.ts';
import { invalidParams } from './errors.ts';

const MOST_DECIMALS = 255n;
const AMOUNT = /^(0|[1-9][0-9]{0,19})$/;

export const faucetMethods: Readonly<Record<string, Method>> = {
  requestAirdrop: (params, context) => {
    const recipient = params.address(0);
    const lamports = params.u64(1);
    return give(context, (blockhash) => context.faucet.lamportsTo(recipient, lamports, blockhash));
  },
  /** Not one of Solana's: owner, mint, amount of base units as text. Creates the associated token account. */
  requestTokenAirdrop: (params, context) => {
    const owner = params.address(0);
    const mint = params.address(1);
    const text = params.string(2);
    if (!AMOUNT.test(text) || BigInt(text) >= 2n ** 64n)
      throw invalidParams('the amount is not a u64 as text');
    const found = mintOf(context.ledger.accountAt(mint, context.ledger.tip()));
    if (found?.mintAuthority !== context.faucet.address)
      throw invalidParams('the faucet cannot mint this token');
    const gift = { owner, mint, program: found.program, amount: BigInt(text) };
    return give(context, (blockhash) => context.faucet.tokensTo(gift, blockhash));
  },
  /** Also ours: creates a mint of the faucet with these decimals at an unused address. */
  ensureMint: async (params, context) => {
    const address = params.address(0);
    const decimals = params.u64(1);
    if (decimals > MOST_DECIMALS) throw invalidParams('a mint has at most 255 decimals');
    await context.ensureMint({ address, decimals: Number(decimals) });
    return null;
  },
};

function give({ ledger }: RpcContext, transactionWith: (blockhash: string) => Uint8Array): string {
  const { blockhash } = ledger.blockhashAt(ledger.tip());
  const wire = readTransaction(transactionWith(blockhash));
  const landing = ledger.land(wire);
  if (landing.error !== null) throw invalidParams(describeTransactionError(landing.error));
  return wire.signature;
}
