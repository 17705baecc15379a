import { type Endpoint, endpoint, idempotencyKeyOf } from '@coffer/http';
import { idText, longCallerId, trimmedText } from '@coffer/kernel';
import { z } from 'zod';
import { type App, createApp, listApps } from '../apps.ts';
import type { PortalOptions } from './options.ts';

const appBody = z.object({
  appId: idText('app'),
  name: z.string(),
  scopeId: idText('scp'),
  createdAt: z.iso.datetime(),
});

const rendered = ({ appId, name, scopeId, createdAt }: App) => ({ appId, name, scopeId, createdAt });

export const appEndpoints = ({
  pool,
  eventStore,
  transaction,
}: Pick<PortalOptions, 'pool' | 'eventStore' | 'transaction'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/apps',
    credential: 'operator',
    summary: 'Create an app',
    description:
      'With the header Idempotency-Key the same request answers the same app; without it each call makes one.',
    body: z.strictObject({
      name: trimmedText(100),
      /** The scope of an existing app, to share its users and wallets. */
      scope: idText('scp').optional(),
    }),
    idempotencyHeader: {},
    links: {
      'GET /portal/app/:appId/keys': { appId: '$response.body#/appId' },
      'POST /portal/app/:appId/:environment/keys': { appId: '$response.body#/appId' },
      'POST /portal/app/:appId/currencies': { appId: '$response.body#/appId' },
      'GET /portal/app/:appId/settings': { appId: '$response.body#/appId' },
      'POST /portal/app/:appId/:environment/users': { appId: '$response.body#/appId' },
      'GET /portal/app/:appId/:environment/wallets': { appId: '$response.body#/appId' },
    },
    success: { status: 200, schema: appBody },
    errors: ['portal/scope_not_found', 'portal/idempotency_conflict'],
    handle: async ({ body, context }) => {
      const idempotencyKey = idempotencyKeyOf(context, longCallerId);
      const { name, scope: scopeId } = body;
      const joinedAt = scopeId === undefined ? undefined : await eventStore.head();
      const { app, replayed } = await transaction(context, (change) =>
        createApp(change, { name, scopeId, joinedAt, idempotencyKey }),
      );
      return { status: 200, body: rendered(app), replayed };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/apps',
    credential: 'operator',
    summary: 'List the apps',
    links: {
      'GET /portal/app/:appId/keys': { appId: '$response.body#/items/0/appId' },
    },
    success: { status: 200, schema: z.object({ items: z.array(appBody) }) },
    errors: [],
    handle: async () => ({ status: 200, body: { items: (await listApps(pool)).map(rendered) } }),
  }),
];
