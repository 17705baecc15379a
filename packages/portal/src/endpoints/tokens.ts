import { type Endpoint, endpoint, type PortalCaller } from '@coffer/http';
import { z } from 'zod';
import { reject } from '../errors.ts';
import type { PortalOptions } from './options.ts';
import { appOf } from './subject.ts';

export const tokenEndpoints = ({
  directory,
  portalTokens,
}: Pick<PortalOptions, 'directory' | 'portalTokens'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/token',
    credential: 'operator',
    summary: 'Issue a portal session token',
    description: 'It cannot be withdrawn: it ends after ttlSeconds.',
    body: z.strictObject({
      role: z.enum(['viewer', 'admin']).default('admin'),
      ttlSeconds: z.int().min(1).max(86_400).default(3_600),
    }),
    success: { status: 200, schema: z.object({ token: z.string(), expiresAt: z.iso.datetime() }) },
    errors: ['portal/app_not_found'],
    handle: async ({ params, body: { role, ttlSeconds } }) => {
      const { appId } = await appOf(directory, params.appId);
      return { status: 200, body: portalTokens.issue({ appId, role }, ttlSeconds) };
    },
  }),
];

/** The codes that `portalAppOf` and `requireAdmin` throw. */
export const PORTAL_ERRORS = ['portal/app_not_found', 'portal/role_not_allowed'] as const;

/** A session of one app sees nothing of another, not even that there is one. Throws `portal/app_not_found`. */
export function portalAppOf(caller: PortalCaller, params: { readonly appId: string }): string {
  if (caller.appId !== params.appId) throw reject('portal/app_not_found', { appId: params.appId });
  return caller.appId;
}

/** Throws `portal/role_not_allowed`. */
export function requireAdmin({ role }: PortalCaller): void {
  if (role !== 'admin') throw reject('portal/role_not_allowed');
}
