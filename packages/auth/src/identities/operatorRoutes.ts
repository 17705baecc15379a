/** The standing of users: a user who may no longer sign in is also signed out. Source: contract, The command line. */
import { requestedBy } from '@coffer/event-store';
import { type Endpoint, endpoint } from '@coffer/http';
import { type Clock, isoTimeOf, trimmedText } from '@coffer/kernel';
import { type AppDirectory, placeOf } from '@coffer/portal';
import { standingBody, USER_ERRORS, type Users } from '@coffer/users';
import { z } from 'zod';
import type { Sessions } from '../sessions/index.ts';
import type { Erasure } from './erasure.ts';

const STANDING_ERRORS = [...USER_ERRORS, 'users/erased'];

export interface OperatorUserRoutes {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly erasure: Pick<Erasure, 'erase'>;
  readonly sessions: Pick<Sessions, 'endAllOf'>;
  readonly clock: Clock;
}

export const operatorStandingEndpoints = ({
  directory,
  users,
  erasure,
  sessions,
  clock,
}: OperatorUserRoutes): readonly Endpoint[] => [
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
      await sessions.endAllOf(place, answer.userId);
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
      // Sessions left open because the suspending process died must not come back to life with the user.
      const { status } = await users.show(place, context);
      if (status === 'suspended') await sessions.endAllOf(place, place.userId);
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
      const place = { environment, scopeId, userId: params.userId };
      await erasure.erase(place, requestedBy(context, isoTimeOf(clock)));
      await sessions.endAllOf(place, place.userId);
      return { status: 200, body: { userId: place.userId, status: 'erased' } };
    },
  }),
];
