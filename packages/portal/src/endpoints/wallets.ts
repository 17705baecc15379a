/** Wallets, as an operator replaces a user's and looks up those of the app itself. */
import { type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import { type AppPlace, figure, isBase58Address, longCallerId } from '@coffer/kernel';
import { z } from 'zod';
import type { PortalOptions } from './portalEndpoints.ts';
import { PLACE_ERRORS, placeOf } from './subject.ts';

interface PortalWallet {
  readonly id: string;
  readonly address: string;
  readonly status: 'active' | 'exported' | 'migrated';
}

export interface PortalSweep {
  readonly moveId: string;
  readonly mint: string;
  readonly amount: bigint;
  readonly status: 'pending' | 'submitted' | 'confirmed' | 'failed';
}

/** What the portal needs of the wallets context. */
export interface PortalWallets {
  /** Idempotent on `ref`. Throws `users/not_found`, `wallets/not_found`, `chain/not_configured`. */
  readonly migrate: (
    place: AppPlace & { readonly userId: string },
    ref: string,
    context: RequestContext,
  ) => Promise<{
    readonly from: PortalWallet;
    readonly to: PortalWallet;
    readonly sweeps: readonly PortalSweep[];
  }>;
  /** The app's own wallets, made where they are not there yet. Throws `wallets/keys_unavailable`. */
  readonly ofApp: (
    place: Pick<AppPlace, 'appId' | 'environment'>,
    context: RequestContext,
  ) => Promise<readonly AppWallet[]>;
}

export interface AppWallet {
  readonly role: 'treasury' | 'feePayer';
  readonly address: string;
  /** Null where no chain is configured for the environment. */
  readonly lamports: bigint | null;
}

const address = z.string().refine(isBase58Address);
const walletBody = z.object({
  id: z.string(),
  address,
  status: z.enum(['active', 'exported', 'migrated']),
});

const migratedBody = z.object({
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

const appWalletsBody = z.object({
  items: z.array(
    z.object({
      role: z.enum(['treasury', 'feePayer']),
      address,
      /** What it holds of the native currency. */
      lamports: figure.nullable(),
    }),
  ),
});

export const walletEndpoints = ({
  directory,
  wallets,
}: Pick<PortalOptions, 'directory' | 'wallets'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/users/:userId/wallets/migrate',
    credential: 'operator',
    summary: 'Give a user another address and send what the old one holds there',
    description:
      'The same ref changes no address again: it sends on what has arrived at the old one since, and answers how things are by then. What is less than an account must hold stays where it is.',
    body: z.strictObject({ ref: longCallerId }),
    success: { status: 200, schema: migratedBody },
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
      const { from, to, sweeps } = await wallets.migrate(place, body.ref, context);
      return { status: 200, body: migratedBody.encode({ from, to, sweeps: [...sweeps] }) };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/wallets',
    credential: 'operator',
    summary: 'Show the wallets of the app itself: the treasury and the payer of network fees',
    success: { status: 200, schema: appWalletsBody },
    errors: [...PLACE_ERRORS, 'wallets/keys_unavailable', 'chain/unreachable'],
    handle: async ({ params, context }) => {
      const place = await placeOf(directory, params);
      const items = [...(await wallets.ofApp(place, context))];
      return { status: 200, body: appWalletsBody.encode({ items }) };
    },
  }),
];
