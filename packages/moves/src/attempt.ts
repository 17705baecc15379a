/** Builds the next attempt of a move: its transaction, signed by all required signers. */
import assert from 'node:assert/strict';
import { decodeMetadata, type Environment, type FailPoint } from '@coffer/kernel';
import { type Address, type Chain, signatureOf } from '@coffer/solana';
import { nextAttempt, type RequestedMove, type SignedAttempt } from './domain/move.ts';
import type { Journey } from './journey.ts';
import type { MovePolicy } from './policy.ts';
import { type FeePayer, isLastingRefusal, MoveRefusal, prepareTransfer } from './preparation.ts';
import type { RentSponsor } from './rent.ts';
import type { PayingWallet } from './types.ts';
import { untilAborted } from './waiting.ts';

/** Signs for a wallet. Throws `wallets/…` refusals. */
export interface MoveSigner {
  readonly sign: (
    wallet: { readonly ownerId: string; readonly environment: Environment; readonly walletId: string },
    message: Uint8Array,
    opening: { readonly actor: string; readonly purpose: string; readonly requestId: string },
  ) => Promise<Uint8Array>;
}

export interface AttemptOptions {
  readonly signer: MoveSigner;
  /** The user's wallet whose key is kept and in use here; undefined for any other address. */
  readonly walletAt: (environment: Environment, address: Address) => Promise<PayingWallet | undefined>;
  readonly rentSponsor: Pick<RentSponsor, 'spend'>;
  readonly policy: MovePolicy;
  readonly failPoint: FailPoint;
}

/** Throws a `MoveRefusal` if there is a reason against it. */
export async function signAttempt(
  { signer, walletAt, rentSponsor, policy, failPoint }: AttemptOptions,
  { environment, cause, signal }: Journey,
  known: RequestedMove,
  chain: Chain,
  feePayer: FeePayer,
): Promise<SignedAttempt> {
  const { terms } = known;
  const { moveId, appId, userId } = terms;
  const { unsigned, recent, rentPayer } = await untilAborted(
    signal,
    prepareTransfer(chain, terms, feePayer, policy, {
      walletAt: (address) => walletAt(environment, address),
      isSponsored: () => rentSponsor.spend({ moveId, appId, environment, userId }),
    }),
  );
  const attempt = nextAttempt(known);
  const { actor, correlationId } = decodeMetadata(cause.metadata);
  const opening = { actor, purpose: `${moveId} attempt ${attempt}`, requestId: correlationId };
  const signWith = ({ ownerId, walletId }: PayingWallet) =>
    signer.sign({ ownerId, walletId, environment }, unsigned.message, opening);

  failPoint('move.beforeSign');
  const signatures = new Map<Address, Uint8Array>();
  for (const wallet of [terms.from, rentPayer ?? terms.from]) {
    if (signatures.has(wallet.address)) continue;
    const signature = await signWith(wallet).catch((error: unknown) => {
      if (!isLastingRefusal(error)) throw error;
      throw new MoveRefusal('moves/wallet_unavailable', error instanceof Error ? error.message : '');
    });
    signatures.set(wallet.address, signature);
  }
  signatures.set(feePayer.address, await signWith(feePayer));
  const transaction = unsigned.withSignatures(
    unsigned.signers.map((address) => {
      const signature = signatures.get(address);
      assert(signature, `no signer for ${address}`);
      return signature;
    }),
  );
  return {
    attempt,
    signature: signatureOf(transaction),
    transaction: Buffer.from(transaction).toString('base64'),
    blockhash: recent.blockhash,
    lastValidBlockHeight: recent.lastValidBlockHeight,
    feePayer: feePayer.address,
  };
}
