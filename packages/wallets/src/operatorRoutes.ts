/** How an operator replaces a user's wallet, and looks up the app's own. */
import { type CommandContext, requestedBy } from '@coffer/event-store';
import { type Endpoint, endpoint } from '@coffer/http';
import {
  type AppPlace,
  type Clock,
  encoderOf,
  figure,
  isBase58Address,
  isoTimeOf,
  longCallerId,
} from '@coffer/kernel';
import { type AppDirectory, PLACE_ERRORS, placeOf } from '@coffer/portal';
import type { Chains } from '@coffer/solana';
import type { Users } from '@coffer/users';
import { z } from 'zod';
import { type OperatorWalletRole, operatorWalletRole } from './operator/domain/operatorWallet.events.ts';
import type { OperatorWallets } from './operator/index.ts';
import type { WalletMigration } from './walletMigration.ts';

export interface OperatorWalletRoutes {
  readonly directory: AppDirectory;
  readonly users: Pick<Users, 'show'>;
  readonly migration: WalletMigration;
  readonly operatorWallets: OperatorWallets;
  readonly chains: Pick<Chains, 'find'>;
  readonly clock: Clock;
}

const address = z.string().refine(isBase58Address);
const walletBody = z.object({
  id: z.string(),
  address,
  status: z.enum(['active', 'exported', 'migrated']),
});

const migratedWallet = z.object({
  from: walletBody,
  to: walletBody,
  sweeps: z.array(
    z.object({
      moveId: z.string(),
      mint: z.string(),
      amount: figure,
      status: z.enum(['pending', 'submitted', 'confirmed', 'failed']),
    }),
  ),
});

const appWallets = z.object({
  items: z.array(
    z.object({
      role: operatorWalletRole,
      address,
      /** How much of the native currency it holds. */
      lamports: figure.nullable(),
    }),
  ),
});

const migratedBody = encoderOf(migratedWallet);
const appWalletsBody = encoderOf(appWallets);

export const operatorWalletEndpoints = ({
  directory,
  users,
  migration,
  operatorWallets,
  chains,
  clock,
}: OperatorWalletRoutes): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/users/:userId/wallets/migrate',
    credential: 'operator',
    summary: 'Give a user another address and send what the old one holds there',
    description:
      'The same ref never changes the address again: it sends on what has since arrived at the old one, and answers how things stand now. Less than an account must hold stays where it is.',
    body: z.strictObject({ ref: longCallerId }),
    success: { status: 200, schema: migratedWallet },
    errors: [
      ...PLACE_ERRORS,
      'users/not_found',
      'wallets/not_found',
      'wallets/not_active',
      'wallets/keys_unavailable',
      'chain/not_configured',
      'chain/unreachable',
    ],
    handle: async ({ params, body, context }) => {
      const { appId, scopeId, environment } = await placeOf(directory, params);
      const place = { appId, scopeId, environment, userId: params.userId };
      await users.show(place, context);
      const by = requestedBy(context, isoTimeOf(clock));
      return { status: 200, body: migratedBody(await migration.migrate(place, body.ref, by)) };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/wallets',
    credential: 'operator',
    summary: 'Show the wallets of the app itself: the treasury and the payer of network fees',
    success: { status: 200, schema: appWallets },
    errors: [...PLACE_ERRORS, 'wallets/keys_unavailable', 'chain/unreachable'],
    handle: async ({ params, context }) => {
      const place = await placeOf(directory, params);
      const by = requestedBy(context, isoTimeOf(clock));
      const items = await Promise.all(
        operatorWalletRole.options.map((role) => shown(operatorWallets, chains, { ...place, role }, by)),
      );
      return { status: 200, body: appWalletsBody({ items }) };
    },
  }),
];

async function shown(
  operatorWallets: OperatorWallets,
  chains: Pick<Chains, 'find'>,
  { environment, appId, role }: AppPlace & { readonly role: OperatorWalletRole },
  context: CommandContext,
) {
  const { address: at } = await operatorWallets.provision({ environment, appId, role }, context);
  const chain = chains.find(environment);
  const [account] = chain ? await chain.accounts([at], 'confirmed') : [];
  return { role, address: at, lamports: chain ? (account?.lamports ?? 0n) : null };
}
