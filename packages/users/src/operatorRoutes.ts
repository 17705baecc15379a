/** How an operator registers and sees users. Source: contract, The command line. */
import { differentKeys, type Endpoint, endpoint, idempotencyKeyOf } from '@coffer/http';
import { idFromParts, idText, isId, longCallerId, trimmedText } from '@coffer/kernel';
import { type AppDirectory, PLACE_ERRORS, placeOf } from '@coffer/portal';
import { z } from 'zod';
import { complianceDecision } from './domain/user.events.ts';
import type { Users } from './users.ts';

const status = z.enum(['active', 'suspended', 'erased']);
export const standingBody = z.object({ userId: idText('usr'), status });

export const USER_ERRORS = [...PLACE_ERRORS, 'users/not_found'];

export const operatorUserEndpoints = ({
  directory,
  users,
}: {
  readonly directory: AppDirectory;
  readonly users: Users;
}): readonly Endpoint[] => [
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
    path: '/portal/app/:appId/:environment/users/:userId/compliance',
    credential: 'operator',
    summary: 'Record what a compliance check has found',
    description:
      'Every app of the scope is told by a webhook. The standing does not change: suspend the user if the finding calls for it. The same decision for the same reason again changes nothing. Write no personal data into the reason.',
    body: z.strictObject({ decision: complianceDecision, reason: trimmedText(200) }),
    success: {
      status: 200,
      schema: standingBody.extend({ decision: complianceDecision, reason: z.string() }),
    },
    errors: [...USER_ERRORS, 'users/erased'],
    handle: async ({ params, body, context }) => {
      const { scopeId, environment } = await placeOf(directory, params);
      const { decision, reason } = body;
      const place = { environment, scopeId, userId: params.userId };
      const { answer } = await users.decideCompliance({ ...place, decision, reason }, context);
      return { status: 200, body: { userId: answer.userId, status: answer.status, decision, reason } };
    },
  }),
];
