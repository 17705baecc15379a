/** Users, as an operator registers, suspends, reinstates and erases them. */
import { differentKeys, type Endpoint, endpoint, idempotencyKeyOf, type RequestContext } from '@coffer/http';
import {
  type Environment,
  idFromParts,
  idText,
  isId,
  longCallerId,
  trimmedText,
  type UserPlace,
} from '@coffer/kernel';
import { z } from 'zod';
import type { PortalOptions } from './portalEndpoints.ts';
import { PLACE_ERRORS, placeOf } from './subject.ts';

export interface PortalUser {
  readonly userId: string;
  readonly appId: string;
  readonly registeredAt: string;
  readonly status: 'active' | 'suspended' | 'erased';
}

interface Outcome {
  readonly answer: PortalUser;
  readonly replayed: boolean;
}

/**
 * What the portal needs of the users context; all but `register` throw `users/not_found`,
 * and `suspend` and `reinstate` throw `users/erased`.
 */
export interface PortalUsers {
  readonly register: (
    request: {
      readonly environment: Environment;
      readonly scopeId: string;
      readonly appId: string;
      readonly userId?: string | undefined;
    },
    context: RequestContext,
  ) => Promise<Outcome>;
  readonly suspend: (
    place: UserPlace & { readonly reason?: string | undefined },
    context: RequestContext,
  ) => Promise<Outcome>;
  readonly reinstate: (place: UserPlace, context: RequestContext) => Promise<Outcome>;
  /** Forgets the person behind the user, for good. Safe to repeat. */
  readonly erase: (place: UserPlace, context: RequestContext) => Promise<void>;
  readonly show: (place: UserPlace, context: RequestContext) => Promise<PortalUser>;
}

const status = z.enum(['active', 'suspended', 'erased']);
const standingBody = z.object({ userId: idText('usr'), status });

const USER_ERRORS = [...PLACE_ERRORS, 'users/not_found'];
const STANDING_ERRORS = [...USER_ERRORS, 'users/erased'];

export const userEndpoints = ({
  directory,
  users,
}: Pick<PortalOptions, 'directory' | 'users'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/users',
    credential: 'operator',
    summary: 'Register a user without sign-in',
    description: 'With a userId or the header Idempotency-Key the same request answers the same user.',
    body: z.strictObject({
      userId: idText('usr')
        .refine((text) => isId('usr', text), 'must be usr_ and 26 characters of lower-case base32')
        .optional(),
    }),
    idempotencyHeader: {},
    links: {
      'GET /portal/app/:appId/:environment/users/:userId': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        userId: '$response.body#/userId',
      },
      'POST /portal/app/:appId/:environment/users/:userId/suspend': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        userId: '$response.body#/userId',
      },
      'POST /portal/app/:appId/:environment/users/:userId/accounts/credit': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        userId: '$response.body#/userId',
      },
      'GET /portal/app/:appId/:environment/users/:userId/accounts': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        userId: '$response.body#/userId',
      },
      'POST /portal/app/:appId/:environment/users/:userId/erase': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        userId: '$response.body#/userId',
      },
    },
    success: { status: 200, schema: z.object({ userId: idText('usr') }) },
    errors: [...PLACE_ERRORS, 'users/idempotency_conflict'],
    handle: async ({ params, body, context }) => {
      const { appId, scopeId, environment } = await placeOf(directory, params);
      const key = idempotencyKeyOf(context, longCallerId);
      const followingId = key && idFromParts('usr', 'portal', environment, appId, key);
      if (body.userId !== undefined && followingId !== undefined && body.userId !== followingId) {
        throw differentKeys('userId');
      }
      const { answer, replayed } = await users.register(
        { environment, scopeId, appId, userId: body.userId ?? followingId },
        context,
      );
      return { status: 200, body: { userId: answer.userId }, replayed };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/users/:userId',
    credential: 'operator',
    summary: 'Show a user',
    success: {
      status: 200,
      schema: standingBody.extend({ appId: z.string(), registeredAt: z.iso.datetime() }),
    },
    errors: USER_ERRORS,
    handle: async ({ params, context }) => {
      const { scopeId, environment } = await placeOf(directory, params);
      const place = { environment, scopeId, userId: params.userId };
      const { userId, appId, registeredAt, status: standing } = await users.show(place, context);
      return { status: 200, body: { userId, status: standing, appId, registeredAt } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/users/:userId/suspend',
    credential: 'operator',
    summary: 'Suspend a user',
    description: 'Suspending a suspended user changes nothing. Write no personal data into the reason.',
    body: z.strictObject({ reason: trimmedText(200).optional() }),
    links: {
      'POST /portal/app/:appId/:environment/users/:userId/reinstate': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        userId: '$response.body#/userId',
      },
    },
    success: { status: 200, schema: standingBody },
    errors: STANDING_ERRORS,
    handle: async ({ params, body, context }) => {
      const { scopeId, environment } = await placeOf(directory, params);
      const place = { environment, scopeId, userId: params.userId, reason: body.reason };
      const { answer } = await users.suspend(place, context);
      return { status: 200, body: { userId: answer.userId, status: answer.status } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/users/:userId/reinstate',
    credential: 'operator',
    summary: 'Reinstate a suspended user',
    description: 'Reinstating an active user changes nothing.',
    body: z.strictObject({}),
    success: { status: 200, schema: standingBody },
    errors: STANDING_ERRORS,
    handle: async ({ params, context }) => {
      const { scopeId, environment } = await placeOf(directory, params);
      const place = { environment, scopeId, userId: params.userId };
      const { answer } = await users.reinstate(place, context);
      return { status: 200, body: { userId: answer.userId, status: answer.status } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/users/:userId/erase',
    credential: 'operator',
    summary: 'Erase a user',
    description:
      'Destroys for good what is known of the person, and frees the identity: who signs in with it becomes a new user. Funds and play stay under the id. Erasing an erased user changes nothing.',
    body: z.strictObject({}),
    success: { status: 200, schema: standingBody },
    errors: USER_ERRORS,
    handle: async ({ params, context }) => {
      const { scopeId, environment } = await placeOf(directory, params);
      const { userId } = params;
      await users.erase({ environment, scopeId, userId }, context);
      return { status: 200, body: { userId, status: 'erased' } };
    },
  }),
];
