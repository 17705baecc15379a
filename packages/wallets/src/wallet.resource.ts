/**
 * A player's wallet as its player sees it: money is bigint here and text in bodies. Source: contract, Wallets.
 */
import { addressText, encoderOf, environment, figure, idText } from '@coffer/kernel';
import { z } from 'zod';

const id = idText('wlt');

export const playerWallet = z.strictObject({
  id,
  userId: idText('usr'),
  address: addressText,
  environment,
  custody: z.literal('operator'),
  status: z.enum(['active', 'exported', 'migrated']),
  createdAt: z.iso.datetime(),
});
export type WalletView = Readonly<z.output<typeof playerWallet>>;

const labelled = {
  amount: figure,
  decimals: z.int(),
  // Null where the app has no currency for it.
  currency: z.string().nullable(),
  currencyId: z.int().nullable(),
};
export const walletBalance = z.strictObject({
  walletId: id,
  address: addressText,
  environment,
  native: z.strictObject({ symbol: z.literal('SOL'), ...labelled }),
  // Each mint once, those of the app's currencies first.
  tokens: z.array(z.strictObject({ mint: z.string(), ...labelled })).readonly(),
});
export type WalletBalance = Readonly<z.output<typeof walletBalance>>;

export const exportedWallet = z.strictObject({
  exported: z.strictObject({
    id: z.string(),
    address: z.string(),
    secretKey: z.string().optional(),
    sealedSecretKey: z.string().optional(),
  }),
  wallet: playerWallet,
});

export const exportPreflight = z.strictObject({
  allowed: z.boolean(),
  reasons: z.array(z.enum(['below_floor', 'moves_in_flight', 'reauthentication_required'])).readonly(),
  floor: z.array(z.strictObject({ currency: z.string(), minimum: figure, balance: figure })).readonly(),
});
export type ExportPreflight = Readonly<z.output<typeof exportPreflight>>;

export const walletBalanceBody = encoderOf(walletBalance);
export const exportPreflightBody = encoderOf(exportPreflight);
