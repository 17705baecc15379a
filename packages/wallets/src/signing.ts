/**
 * Signs what a caller has put together: it is read, inspected and simulated, and only then is the key opened. Nothing
 * is sent.
 * Source: docs/api.md, Wallets; ADR 0021.
 */
import { createHash } from 'node:crypto';
import type { Pool } from '@coffer/database';
import { encodeBase58 } from '@coffer/kernel';
import {
  type Address,
  type Chain,
  type ChainAccount,
  decodeTransaction,
  MAX_TRANSACTION_BYTES,
  type ResolvedTransaction,
  resolveLookups,
  TransactionFormatError,
  withSignature,
} from '@coffer/solana';
import type { WalletPlace } from './domain/walletIds.ts';
import { reject } from './errors.ts';
import { checkSimulation, movesValueOut } from './policy/checkSimulation.ts';
import { inspect } from './policy/inspect.ts';
import type { SigningLimits } from './policy/limits.ts';
import type { Declared } from './policy/terms.ts';
import { findKeysOf, type KeyOpening } from './sealedKeys.ts';
import type { Signer } from './signer.ts';
import {
  claimSigning,
  findSigning,
  type KeptSigning,
  keepAnswer,
  type SigningKey,
} from './signingRecords.ts';

interface SigningWallet {
  readonly place: WalletPlace;
  readonly address: Address;
}

interface SigningRequest {
  readonly wallet: SigningWallet;
  readonly operation: SigningKey['operation'];
  readonly askedBy: string;
  /** Base64. */
  readonly transaction: string;
  readonly idempotencyKey: string | undefined;
  /** The programs that may be called; undefined if a player signs for themselves. */
  readonly programAllowList: readonly Address[] | undefined;
  readonly opening: Omit<KeyOpening, 'purpose'>;
  /** Called once this is known not to be a repeat: throws if nothing may be signed for them now. */
  readonly requireActive: () => Promise<void>;
  /** Called if it would let anything of value leave the wallet: throws if the sign-in is too old for that. */
  readonly requireRecent: () => Promise<void>;
}

interface SignedTransaction {
  /** Base64. */
  readonly signedTransaction: string;
  /** Our wallet's signature, in base58. */
  readonly signature: string;
  readonly publicKey: Address;
}

interface SigningReply {
  readonly body: SignedTransaction;
  readonly replayed: boolean;
}

export interface SigningOptions {
  readonly pool: Pool;
  readonly signer: Signer;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: WalletPlace['environment']) => Chain;
  readonly limits: SigningLimits;
}

export type SignTransaction = (request: SigningRequest) => Promise<SigningReply>;

export function createTransactionSigning({ pool, signer, chainOf, limits }: SigningOptions): SignTransaction {
  return async (request) => {
    const { idempotencyKey } = request;
    const wire = bytesOf(request.transaction);
    const hash = createHash('sha256').update(wire).digest();
    const key = idempotencyKey === undefined ? undefined : keyOf(request, idempotencyKey);
    const earlier = key && answerIn(await findSigning(pool, key), key, hash);
    if (earlier) return { body: earlier, replayed: true };

    await request.requireActive();
    const transaction = await checked(wire, request);

    // From here on the key belongs to this transaction: no two are ever signed under one. Refusals come before this.
    const first = key && answerIn(await claimSigning(pool, key, hash), key, hash);
    if (first) return { body: first, replayed: true };
    const body = await signed(transaction, request);
    // A crash before this is harmless: ed25519 signatures are deterministic, so a repeat of the request yields the
    // very bytes that were lost. That is also why parallel requests all make the same answer.
    const isFirst = key === undefined || (await keepAnswer(pool, key, JSON.stringify(body)));
    return { body, replayed: !isFirst };
  };

  async function checked(wire: Uint8Array, request: SigningRequest): Promise<ResolvedTransaction> {
    const { wallet } = request;
    const chain = chainOf(wallet.place.environment);
    const transaction = await read(chain, wire);
    const { decoded } = transaction;
    const others = decoded.staticKeys
      .slice(0, decoded.header.requiredSignatures)
      .filter((signer) => signer !== wallet.address);
    const programAllowList = request.programAllowList && new Set(request.programAllowList);
    const found = inspect(transaction, {
      wallet: wallet.address,
      ownKeys: await findKeysOf(pool, others),
      programAllowList,
      limits,
    });
    if (found.outcome === 'refused') throw reject('wallets/transaction_refused', { reasons: found.reasons });
    if (found.outcome === 'program_not_allowed') {
      throw reject('wallets/program_not_allowed', { programs: found.programs });
    }
    const gives = await simulate(chain, transaction, {
      wallet: wallet.address,
      declared: found.declared,
      // All of them are in the list, or the transaction would have been refused.
      trustsForeignPrograms: programAllowList !== undefined && found.declared.foreignPrograms.length > 0,
    });
    if (gives) await request.requireRecent();
    return transaction;
  }

  /** Whether it would let anything of value leave the wallet. */
  async function simulate(
    chain: Chain,
    { accounts, decoded }: ResolvedTransaction,
    rules: {
      readonly wallet: Address;
      readonly declared: Declared;
      readonly trustsForeignPrograms: boolean;
    },
  ): Promise<boolean> {
    // Only accounts that it can write to can change.
    const writable = accounts.filter(({ isWritable }) => isWritable).map(({ address }) => address);
    const watched = [...new Set([rules.wallet, ...writable])];
    const before = stateOf(watched, await chain.accounts(watched, 'confirmed'));
    const simulation = await chain.simulate(decoded.wire, watched);
    if (simulation.error !== null) throw reject('wallets/simulation_failed', { reason: simulation.error });
    const after = stateOf(watched, simulation.accounts);
    const reasons = checkSimulation(before, after, { ...rules, limits });
    if (reasons.length > 0) throw reject('wallets/transaction_refused', { reasons });
    return movesValueOut(before, after, rules);
  }

  async function signed(
    { decoded }: ResolvedTransaction,
    { wallet, opening, operation }: SigningRequest,
  ): Promise<SignedTransaction> {
    const purpose = `${operation} ${createHash('sha256').update(decoded.message).digest('hex')}`;
    const signature = await signer.sign(wallet.place, decoded.message, { ...opening, purpose });
    return {
      signedTransaction: Buffer.from(withSignature(decoded, wallet.address, signature)).toString('base64'),
      signature: encodeBase58(signature),
      publicKey: wallet.address,
    };
  }
}

const keyOf = ({ wallet, operation, askedBy }: SigningRequest, idempotencyKey: string): SigningKey => ({
  walletId: wallet.place.walletId,
  operation,
  askedBy,
  idempotencyKey,
});

/** What was answered under the key. Throws if the key belongs to another transaction. */
function answerIn(
  kept: KeptSigning | undefined,
  { idempotencyKey }: SigningKey,
  hash: Buffer,
): SignedTransaction | undefined {
  if (!kept) return undefined;
  if (!kept.transactionHash.equals(hash)) {
    throw reject('wallets/idempotency_conflict', { key: idempotencyKey, field: 'transaction' });
  }
  // Only `keepAnswer` writes it, with its fields in the order of the answer.
  return kept.answer === null ? undefined : (JSON.parse(kept.answer) as SignedTransaction);
}

/** The canonical base64 of at most one packet. */
function bytesOf(transaction: string): Uint8Array {
  const bytes = Buffer.from(transaction, 'base64');
  if (bytes.length > MAX_TRANSACTION_BYTES) throw reject('wallets/invalid_transaction', { reason: 'size' });
  if (bytes.toString('base64') !== transaction) {
    throw reject('wallets/invalid_transaction', { reason: 'not_base64' });
  }
  return bytes;
}

async function read(chain: Chain, wire: Uint8Array): Promise<ResolvedTransaction> {
  try {
    return await resolveLookups(chain, decodeTransaction(wire));
  } catch (error) {
    if (error instanceof TransactionFormatError) {
      throw reject('wallets/invalid_transaction', { reason: error.fault });
    }
    throw error;
  }
}

function stateOf(
  addresses: readonly Address[],
  accounts: readonly (ChainAccount | undefined)[],
): ReadonlyMap<Address, ChainAccount | undefined> {
  if (accounts.length !== addresses.length) throw new Error('The chain answered about other accounts.');
  return new Map(addresses.map((address, index) => [address, accounts[index]]));
}
