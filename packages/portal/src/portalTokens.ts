/**
 * Portal session tokens: who may look at one app or change it, for a short time. They are signed rather than stored, so
 * any node recognizes them and none can withdraw one: they end by themselves.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { PortalCaller } from '@coffer/http';
import type { Clock } from '@coffer/kernel';
import { z } from 'zod';

const PREFIX = 'pst_';

const claims = z.strictObject({
  appId: z.string(),
  role: z.enum(['viewer', 'admin']),
  /** In milliseconds since 1970. */
  expiresAt: z.int(),
});

export interface PortalTokens {
  readonly issue: (
    session: Pick<PortalCaller, 'appId' | 'role'>,
    lifetimeSeconds: number,
  ) => { readonly token: string; readonly expiresAt: Date };
  /** Undefined for any text that is not a token of ours, or no longer. */
  readonly resolve: (token: string) => PortalCaller | undefined;
}

/** Whether it claims to be one: an API key never does. */
export const isPortalToken = (token: string): boolean => token.startsWith(PREFIX);

export function createPortalTokens({
  secretsKey,
  clock,
}: {
  readonly secretsKey: Uint8Array;
  readonly clock: Clock;
}): PortalTokens {
  const key = Buffer.from(hkdfSync('sha256', secretsKey, '', 'coffer portal sessions', 32));
  const macOf = (content: string): Buffer => createHmac('sha256', key).update(content).digest();
  return {
    issue({ appId, role }, lifetimeSeconds) {
      const expiresAt = new Date(clock().getTime() + lifetimeSeconds * 1000);
      const content = Buffer.from(JSON.stringify({ appId, role, expiresAt: expiresAt.getTime() })).toString(
        'base64url',
      );
      return { token: `${PREFIX}${content}.${macOf(content).toString('base64url')}`, expiresAt };
    },
    resolve(token) {
      const [content = '', mac = '', ...rest] = token.slice(PREFIX.length).split('.');
      const given = Buffer.from(mac, 'base64url');
      const expected = macOf(content);
      if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
        return undefined;
      const { appId, role, expiresAt } = claims.parse(
        JSON.parse(Buffer.from(content, 'base64url').toString()),
      );
      return clock().getTime() < expiresAt ? { kind: 'portal', appId, role } : undefined;
    },
  };
}
