/**
 * Export to self-custody: the user takes the key, the service gives it up and provisions a new wallet for the user. The
 * event decides; the key is retired before it is handed out, so that only its new owner can sign.
 * Source: contract, Wallets; ADR 0022.
 */
import { randomBytes } from 'node:crypto';
import type { Pool } from '@coffer/database';
import type { CommandContext, CommandHandler } from '@coffer/event-store';
import { type Clock, encodeBase58, type FailPoint, noFailPoint, type UserPlace } from '@coffer/kernel';
import nacl from 'tweetnacl';
import type { AdmittedMoves } from './admittedMoves.ts';
import type { ExportedWallet, ProvisionedWallet } from './domain/wallet.state.ts';
import { wallet } from './domain/wallet.ts';
import { walletStreamName } from './domain/walletIds.ts';
import { openKey } from './envelope.ts';
import { reject } from './errors.ts';
import type { MasterKeys } from './masterKeys.ts';
import { destroyRetiredKeys, type KeyOpening, takeKeyForOpening } from './sealedKeys.ts';
import type { WalletView } from './wallet.resource.ts';
import { placeOf, viewOf, type Wallets } from './wallets.ts';

/** How long a repeat of the request gets the key again. */
export const EXPORT_LIFETIME_MS = 24 * 60 * 60 * 1000;

interface ExportRequest {
  readonly walletId: string;
  readonly idempotencyKey: string;
  /** X25519, 32 bytes in base64. Null for the key unsealed. */
  readonly recipientPublicKey: string | null;
}

/** The key as its user gets it: 64 bytes (seed and public key) in base58, or sealed for the recipient in base64. */
type ExportedKey = { readonly secretKey: string } | { readonly sealedSecretKey: string };

export interface ExportAnswer {
  readonly exported: { readonly id: string; readonly address: string } & ExportedKey;
  /** The wallet as it was provisioned. */
  readonly wallet: WalletView;
}

export interface Exports {
  /**
   * Idempotent. `requireAllowed` is called if the wallet would be exported now, never for a repeat. Throws
   * `wallets/not_found`, `wallets/idempotency_conflict`, `wallets/export_expired`, `wallets/not_active`,
   * `wallets/export_not_allowed`, `wallets/invalid_recipient_key`, `wallets/keys_unavailable`.
   */
  readonly exportWallet: (
    owner: UserPlace,
    request: ExportRequest,
    requireAllowed: (wallet: WalletView) => Promise<void>,
    context: CommandContext,
  ) => Promise<{ readonly answer: ExportAnswer; readonly replayed: boolean }>;
  /** Removes keys that were exported too long ago to be handed out again. Returns how many. */
  readonly destroyOldKeys: (limit: number) => Promise<number>;
}

export function createExports({
  pool,
  handler,
  wallets,
  moves,
  masterKeys,
  clock,
  failPoint = noFailPoint,
}: {
  readonly pool: Pool;
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly wallets: Pick<Wallets, 'generationsOf' | 'successorOf' | 'provision'>;
  readonly moves: Pick<AdmittedMoves, 'releaseEnded'>;
  readonly masterKeys: Pick<MasterKeys, 'find'>;
  readonly clock: Clock;
  readonly failPoint?: FailPoint;
}): Exports {
  return {
    async exportWallet(owner, request, requireAllowed, context) {
      const { walletId, idempotencyKey, recipientPublicKey } = request;
      const found = (await wallets.generationsOf(owner, context)).find((one) => one.walletId === walletId);
      if (!found) throw reject('wallets/not_found');

      const isRepeat = found.status === 'exported' && found.idempotencyKey === idempotencyKey;
      if (!isRepeat) {
        if (found.status !== 'active') throw reject('wallets/not_active', { status: found.status });
        if (recipientPublicKey !== null) requireUsableKey(recipientPublicKey);
        await requireAllowed(viewOf(owner, found));
        await moves.releaseEnded(placeOf(owner, found.generation), context);
      }
      // The next key is durable before the event that names it.
      const successor = isRepeat ? found : await wallets.successorOf(owner, found.generation);
      const { answer, replayed } = await handler.execute(
        wallet,
        walletStreamName(placeOf(owner, found.generation)),
        {
          type: 'ExportWallet',
          idempotencyKey,
          recipientPublicKey,
          newWalletId: successor.newWalletId,
          newAddress: successor.newAddress,
          at: clock(),
        },
        context,
      );
      failPoint('export.exported');
      return { answer: await handOut(owner, exportedOf(answer), context), replayed };
    },

    async destroyOldKeys(limit) {
      const retiredBy = new Date(clock().getTime() - EXPORT_LIFETIME_MS);
      return (await destroyRetiredKeys(pool, retiredBy, limit)).length;
    },
  };

  async function handOut(
    owner: UserPlace,
    exported: ExportedWallet,
    context: CommandContext,
  ): Promise<ExportAnswer> {
    const { walletId, address, generation, exportedAt } = exported;
    if (clock().getTime() >= new Date(exportedAt).getTime() + EXPORT_LIFETIME_MS) {
      throw reject('wallets/export_expired');
    }
    // Retires the key before it makes the wallet that follows.
    await wallets.provision(owner, context);
    const successor = (await wallets.generationsOf(owner, context)).at(generation);
    if (!successor) throw new Error(`${walletId} was exported and no wallet follows it.`);

    const key = await exportedKey(owner, exported, openingOf(exported, context));
    if (!key) throw reject('wallets/export_expired');
    return {
      exported: { id: walletId, address, ...key },
      wallet: { ...viewOf(owner, successor), status: 'active' },
    };
  }

  /** Undefined where the key has been destroyed. */
  async function exportedKey(
    owner: UserPlace,
    { generation, recipientPublicKey }: ExportedWallet,
    opening: KeyOpening,
  ): Promise<ExportedKey | undefined> {
    const { environment } = owner;
    const place = placeOf(owner, generation);
    const kept = await keptSeal(place.walletId);
    if (kept) return { sealedSecretKey: kept };

    const stored = await takeKeyForOpening(pool, place, opening, 'retired');
    if (!stored) return undefined;
    const { identity, sealed } = stored;
    const masterKey = masterKeys.find(environment, sealed.masterKeyVersion);
    if (!masterKey) {
      throw reject('wallets/keys_unavailable', { environment, version: sealed.masterKeyVersion });
    }
    if (recipientPublicKey === null) {
      return openKey(sealed, identity, masterKey, (seed) =>
        withSecretKey(seed, identity.publicKey, (bytes) => ({ secretKey: encodeBase58(bytes) })),
      );
    }
    const box = openKey(sealed, identity, masterKey, (seed) =>
      withSecretKey(seed, identity.publicKey, (bytes) => sealFor(recipientPublicKey, bytes)),
    );
    // If several sealed it at once, all of them hand out what the first one kept.
    await pool.query(
      `insert into records.wallets_sealed_exports (wallet_id, sealed_secret_key)
       values ($1, $2) on conflict (wallet_id) do nothing`,
      [place.walletId, box],
    );
    const sealedSecretKey = await keptSeal(place.walletId);
    return sealedSecretKey === undefined ? undefined : { sealedSecretKey };
  }

  async function keptSeal(walletId: string): Promise<string | undefined> {
    const { rows } = await pool.query<{ sealed_secret_key: Buffer }>(
      'select sealed_secret_key from records.wallets_sealed_exports where wallet_id = $1',
      [walletId],
    );
    return rows[0]?.sealed_secret_key.toString('base64');
  }
}

function exportedOf(answer: ProvisionedWallet): ExportedWallet {
  if (answer.status !== 'exported') throw new Error(`${answer.walletId} was answered as ${answer.status}.`);
  return answer;
}

const openingOf = ({ walletId }: ExportedWallet, { metadata }: CommandContext): KeyOpening => ({
  actor: metadata.actor,
  purpose: `export of ${walletId}`,
  requestId: metadata.correlationId,
});

/** The secret key in the form of Solana's tools, for the duration of the call. */
function withSecretKey<Result>(
  seed: Uint8Array,
  publicKey: Uint8Array,
  use: (bytes: Uint8Array) => Result,
): Result {
  const bytes = Buffer.concat([seed, publicKey]);
  try {
    return use(bytes);
  } finally {
    bytes.fill(0);
  }
}

/**
 * Ephemeral public key (32 bytes), nonce (24) and nacl box: only the holder of the recipient's secret key can open it.
 */
function sealFor(recipientPublicKey: string, bytes: Uint8Array): Buffer {
  const ephemeral = nacl.box.keyPair();
  const nonce = randomBytes(nacl.box.nonceLength);
  try {
    const recipient = Buffer.from(recipientPublicKey, 'base64');
    const box = nacl.box(bytes, nonce, recipient, ephemeral.secretKey);
    return Buffer.concat([ephemeral.publicKey, nonce, box]);
  } finally {
    ephemeral.secretKey.fill(0);
  }
}

/** A key of small order makes every shared secret zero: anybody could open what is sealed for it. */
function requireUsableKey(recipientPublicKey: string): void {
  const recipient = Buffer.from(recipientPublicKey, 'base64');
  const shared = nacl.scalarMult(nacl.box.keyPair().secretKey, recipient);
  if (shared.every((byte) => byte === 0)) throw reject('wallets/invalid_recipient_key');
}
