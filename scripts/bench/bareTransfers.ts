/**
 * The yardstick for moves: transfers like theirs, signed beforehand, sent as fast as the embedded chain takes
 * them by a client that does nothing else.
 */
import { createHash, type KeyObject, sign } from 'node:crypto';
import { buildTransfer } from '@coffer/solana';
import type { EmbeddedChainClient } from './embeddedChain.ts';
import { inParallel } from './inParallel.ts';
import { newWallet, type Wallet } from './signIns.ts';

/** The same as in a move. */
const PRIORITY = { unitLimit: 100_000, microLamports: 0n };
const FUNDED_LAMPORTS = 10_000_000_000;
const PAYERS = 100;

export interface BareTransferFigures {
  readonly sentPerSecond: number;
  /** Until the last one was final. */
  readonly finalPerSecond: number;
}

export interface BareTransfers {
  /** The number of transfers, and the lamports of each. */
  readonly measure: (count: number, lamports: bigint) => Promise<BareTransferFigures>;
}

export async function prepareBareTransfers(chain: EmbeddedChainClient): Promise<BareTransfers> {
  const feePayer = newWallet();
  const treasury = newWallet();
  const payers = Array.from({ length: PAYERS }, newWallet);
  await chain.fund(
    [feePayer, treasury, ...payers].map(({ publicKey }) => publicKey),
    FUNDED_LAMPORTS,
  );
  let sent = 0;

  return {
    async measure(count, lamports) {
      const blockhash = await chain.latestBlockhash();
      const transactions = Array.from({ length: count }, () => {
        const from = payers[sent % payers.length] ?? feePayer;
        return signed(feePayer, from, treasury, `bare-${sent++}`, lamports, blockhash);
      });
      const config = { encoding: 'base64', skipPreflight: true, maxRetries: 0 };
      const startMs = performance.now();
      const signatures = await inParallel(count, (index) =>
        chain.call('sendTransaction', [transactions[index], config]),
      );
      const sentMs = performance.now();
      await chain.untilFinal(signatures.map(String));
      const perSecond = (untilMs: number) => (count / (untilMs - startMs)) * 1_000;
      return { sentPerSecond: perSecond(sentMs), finalPerSecond: perSecond(performance.now()) };
    },
  };
}

/** The wire bytes in base64. */
function signed(
  feePayer: Wallet,
  from: Wallet,
  to: Wallet,
  name: string,
  amount: bigint,
  blockhash: string,
): string {
  const unsigned = buildTransfer({
    feePayer: feePayer.publicKey,
    from: from.publicKey,
    to: to.publicKey,
    mint: 'native',
    amount,
    // As long as a move's id.
    moveId: `mov_${createHash('sha256').update(name).digest('hex').slice(0, 26)}`,
    blockhash,
    priority: PRIORITY,
    createsAccount: false,
  });
  const signWith = (key: KeyObject) => Uint8Array.from(sign(null, unsigned.message, key));
  const bytes = unsigned.withSignatures([signWith(feePayer.privateKey), signWith(from.privateKey)]);
  return Buffer.from(bytes).toString('base64');
}
