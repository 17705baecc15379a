/** Signing keys for the operator: listing them, and rotating now. ADR 0017. */
import type { Client, Pool } from '@coffer/database';
import { type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import { environment } from '@coffer/kernel';
import { z } from 'zod';
import {
  listSigningKeys,
  rotateSigningKeys,
  type SecretBox,
  type SigningKeyRecord,
} from './signingKeyRecords.ts';
import type { SigningKeys } from './signingKeys.ts';

/** A change by an operator, recorded in the transaction that makes it. */
type OperatorTransaction = <Result>(
  context: Pick<RequestContext, 'requestId' | 'actor'>,
  work: (change: {
    readonly client: Client;
    readonly at: Date;
    readonly record: (
      action: string,
      appId: string | null,
      details: Readonly<Record<string, unknown>>,
    ) => Promise<void>;
  }) => Promise<Result>,
) => Promise<Result>;

export interface SigningKeyRoutes {
  readonly pool: Pool;
  readonly secretBox: SecretBox;
  /** The keys that this process signs with, so that it applies the change at once. */
  readonly keys: SigningKeys;
  readonly transaction: OperatorTransaction;
}

const time = z.iso.datetime({ precision: 3 });

const keyBody = z.strictObject({
  kid: z.string(),
  environment,
  state: z.enum(['standby', 'signing', 'verify-only', 'retired']),
  createdAt: time,
  /** For a key that no longer signs: when the last token it signed expires. */
  verifyUntil: time.nullable(),
});

const rendered = ({ kid, environment: ofKey, state, createdAt, verifyUntil }: SigningKeyRecord) => ({
  kid,
  environment: ofKey,
  state,
  createdAt: createdAt.toISOString(),
  verifyUntil: verifyUntil?.toISOString() ?? null,
});

export const signingKeyEndpoints = ({
  pool,
  secretBox,
  keys,
  transaction,
}: SigningKeyRoutes): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/signing-keys',
    credential: 'operator',
    summary: 'List the keys of access tokens',
    query: z.strictObject({ environment: environment.optional() }),
    success: { status: 200, schema: z.strictObject({ items: z.array(keyBody) }) },
    errors: [],
    handle: async ({ query }) => {
      // The first keys are created when first requested.
      await keys.current();
      const items = (await listSigningKeys(pool))
        .filter((key) => query.environment === undefined || key.environment === query.environment)
        .map(rendered);
      return { status: 200, body: { items } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/signing-keys/rotate',
    credential: 'operator',
    summary: 'Sign access tokens with the next key',
    description:
      'The key before verifies what it has signed for as long as that lives. If it is compromised it verifies nothing from now on: its access tokens end, and players refresh theirs.',
    body: z.strictObject({ environment, compromised: z.boolean().default(false) }),
    success: {
      status: 200,
      schema: z.strictObject({ environment, signingKid: z.string(), previousKid: z.string().nullable() }),
    },
    errors: ['auth/standby_key_too_young'],
    handle: async ({ body, context }) => {
      const rotation = { environment: body.environment, isCompromised: body.compromised };
      // The first keys must exist.
      await keys.current();
      const rotated = await transaction(context, async ({ client, at, record }) => {
        const result = await rotateSigningKeys(client, secretBox, rotation, at);
        await record('signing-keys.rotate', null, { ...rotation, ...result });
        return result;
      });
      keys.forget();
      const { signingKid, previousKid = null } = rotated;
      return { status: 200, body: { environment: body.environment, signingKid, previousKid } };
    },
  }),
];
