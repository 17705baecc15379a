/** For libraries that verify access tokens without calling us. Source: contract, Sign-in and sessions. */
import { type Endpoint, endpoint } from '@coffer/http';
import { type Environment, environment } from '@coffer/kernel';
import { z } from 'zod';
import { CLAIMS, issuerOf } from './accessTokens.ts';
import { JWKS_MAX_AGE_MS } from './lifetimes.ts';
import type { PublishedKey, SigningKeys } from './signingKeys.ts';

export interface OfflineVerification {
  readonly keys: SigningKeys;
  /** The prefix of claim `iss`; the environment follows. */
  readonly issuer: string;
  /** The origin at which others reach this service: `https://host`. */
  readonly origin: () => string;
}

export const offlineEndpoints = (options: OfflineVerification): readonly Endpoint[] => [
  keySetEndpoint(
    '',
    'Get the public keys of access tokens, of both environments',
    async () => (await options.keys.current()).jwks,
  ),
  ...environment.options.flatMap((place) => issuerEndpoints(place, options)),
];

const jwk = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  use: z.literal('sig'),
  alg: z.literal('ES256'),
});

const discoveryDocument = z.strictObject({
  issuer: z.string(),
  jwks_uri: z.url(),
  response_types_supported: z.array(z.string()),
  subject_types_supported: z.array(z.string()),
  id_token_signing_alg_values_supported: z.array(z.string()),
  claims_supported: z.array(z.string()),
});

const keySetEndpoint = (
  place: '' | `/${Environment}`,
  summary: string,
  keysNow: () => Promise<readonly PublishedKey[]>,
): Endpoint =>
  endpoint({
    method: 'GET',
    path: `${place}/.well-known/jwks.json`,
    credential: 'none',
    summary,
    description:
      'RFC 7517. Says whether a token was signed here, not whether its session has ended since or its user is suspended: POST /sessions/verify does.',
    success: { status: 200, schema: z.strictObject({ keys: z.array(jwk) }) },
    errors: [],
    handle: async () => ({
      status: 200,
      body: { keys: await keysNow() },
      maxAgeSeconds: JWKS_MAX_AGE_MS / 1000,
    }),
  });

/** The environment as an issuer of its own (OpenID Connect Discovery 1.0), of which only the keys exist. */
const issuerEndpoints = (
  place: Environment,
  { keys, issuer, origin }: OfflineVerification,
): readonly Endpoint[] => [
  keySetEndpoint(`/${place}`, `Get the public keys of access tokens of ${place}`, async () =>
    (await keys.current()).jwksOf(place),
  ),
  endpoint({
    method: 'GET',
    path: `/${place}/.well-known/openid-configuration`,
    credential: 'none',
    summary: `Get the OpenID discovery document of ${place}`,
    description:
      'For libraries that verify access tokens: the issuer to expect and the address of its keys. Nobody signs in by OpenID Connect here.',
    success: { status: 200, schema: discoveryDocument },
    errors: [],
    handle: () => ({
      status: 200,
      body: {
        issuer: issuerOf(issuer, place),
        jwks_uri: `${origin()}/${place}/.well-known/jwks.json`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        claims_supported: CLAIMS,
      },
      maxAgeSeconds: JWKS_MAX_AGE_MS / 1000,
    }),
  }),
];
