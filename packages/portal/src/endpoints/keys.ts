import { type Endpoint, endpoint } from '@coffer/http';
import { environment } from '@coffer/kernel';
import { z } from 'zod';
import { type ApiKey, createKey, type KeyChoice, listKeys, revokeKey, rotateKey } from '../keys.ts';
import type { PortalOptions } from './options.ts';
import { appOf, PLACE_ERRORS, placeOf } from './subject.ts';

const MAX_GRACE_SECONDS = 30 * 86_400;

const kind = z.enum(['secret', 'publishable']);
const time = z.iso.datetime();

const keyBody = z.object({
  keyId: z.string(),
  environment,
  kind,
  /** The last four characters. */
  hint: z.string(),
  /** The whole key, if it is publishable: a secret key is shown only when it is created. */
  publishableKey: z.string().nullable(),
  createdAt: time,
  lastUsedAt: time.nullable(),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
});
const mintedBody = z.object({ keyId: z.string(), environment, kind, key: z.string(), createdAt: time });

const rendered = ({ publishableToken, ...key }: ApiKey) => ({ ...key, publishableKey: publishableToken });

const minted = ({ keyId, environment: place, kind: ofKind, createdAt }: ApiKey, token: string) => ({
  keyId,
  environment: place,
  kind: ofKind,
  key: token,
  createdAt,
});

/** Without an id, the secret key is meant: it is the kind that leaks. */
const chosen = ({ keyId, kind: ofKind }: KeyChoice): KeyChoice =>
  keyId === undefined ? { kind: ofKind ?? 'secret' } : { keyId, kind: ofKind };

/** By id, or the only key of its kind in use. */
const choice = { keyId: z.string().optional(), kind: kind.optional() };

const CHOICE_ERRORS = [
  'portal/app_not_found',
  'portal/environment_not_found',
  'portal/key_not_found',
  'portal/key_ambiguous',
];

export const keyEndpoints = ({
  pool,
  directory,
  transaction,
}: Pick<PortalOptions, 'pool' | 'directory' | 'transaction'>): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/keys',
    credential: 'operator',
    summary: 'List the keys of an app',
    query: z.strictObject({ environment: environment.optional() }),
    success: { status: 200, schema: z.object({ items: z.array(keyBody) }) },
    errors: ['portal/app_not_found'],
    handle: async ({ params, query }) => {
      const { appId } = await appOf(directory, params.appId);
      const keys = await listKeys(pool, appId, query.environment);
      return { status: 200, body: { items: keys.map(rendered) } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/keys',
    credential: 'operator',
    summary: 'Create a key',
    description:
      'The key is answered once. Each call makes another: one whose answer was lost can be revoked.',
    body: z.strictObject({ kind: kind.default('secret') }),
    links: {
      'POST /portal/app/:appId/:environment/keys/rotate': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        keyId: '$response.body#/keyId',
      },
      'POST /portal/app/:appId/:environment/keys/revoke': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        keyId: '$response.body#/keyId',
      },
    },
    success: { status: 200, schema: mintedBody },
    errors: PLACE_ERRORS,
    handle: async ({ params, body, context }) => {
      const place = await placeOf(directory, params);
      const { key, token } = await transaction(context, (change) => createKey(change, place, body.kind));
      return { status: 200, body: minted(key, token) };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/keys/rotate',
    credential: 'operator',
    summary: 'Replace a key by a new one',
    description: 'The old key works for graceSeconds more; with 0 it is refused within a second.',
    body: z.strictObject({
      ...choice,
      graceSeconds: z.int().min(0).max(MAX_GRACE_SECONDS).default(0),
    }),
    links: {
      'POST /portal/app/:appId/:environment/keys/revoke': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        keyId: '$response.body#/keyId',
      },
    },
    success: { status: 200, schema: mintedBody.extend({ previous: keyBody }) },
    errors: [...CHOICE_ERRORS, 'portal/key_inactive'],
    handle: async ({ params, body, context }) => {
      const place = await placeOf(directory, params);
      const wanted = { ...chosen(body), graceSeconds: body.graceSeconds };
      const { key, token, previous } = await transaction(context, (change) =>
        rotateKey(change, place, wanted),
      );
      return { status: 200, body: { ...minted(key, token), previous: rendered(previous) } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/keys/revoke',
    credential: 'operator',
    summary: 'Revoke a key',
    description: 'The key is refused within a second. Revoking it again changes nothing.',
    body: z.strictObject(choice),
    success: { status: 200, schema: keyBody },
    errors: CHOICE_ERRORS,
    handle: async ({ params, body, context }) => {
      const place = await placeOf(directory, params);
      const { key, replayed } = await transaction(context, (change) =>
        revokeKey(change, place, chosen(body)),
      );
      return { status: 200, body: rendered(key), replayed };
    },
  }),
];
