/** How an operator finds and settles stranded play sessions. */
import { type Endpoint, endpoint } from '@coffer/http';
import { callerId } from '@coffer/kernel';
import { type AppDirectory, PLACE_ERRORS, placeOf } from '@coffer/portal';
import { z } from 'zod';
import { answerBody } from './domain/playSession.answers.ts';
import { sessionPage, sessionsQuery, settledSession } from './domain/playSession.resource.ts';
import type { PlaySessions } from './playSessions.ts';
import { SETTLE_ERRORS } from './routes.ts';
import type { ListSessions } from './sessionList.ts';

export const operatorSessionEndpoints = ({
  directory,
  playSessions,
  listSessions,
}: {
  readonly directory: AppDirectory;
  readonly playSessions: Pick<PlaySessions, 'settle'>;
  readonly listSessions: ListSessions;
}): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/sessions',
    credential: 'operator',
    summary: 'List play sessions',
    query: sessionsQuery,
    links: {
      'POST /portal/app/:appId/:environment/sessions/:sessionId/settle': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        sessionId: '$response.body#/items/0/sessionId',
      },
      'GET /portal/app/:appId/:environment/sessions': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        cursor: '$response.body#/nextCursor',
      },
    },
    success: { status: 200, schema: sessionPage },
    errors: PLACE_ERRORS,
    handle: async ({ params, query }) => {
      const place = await placeOf(directory, params);
      return { status: 200, body: await listSessions(place, query) };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/sessions/:sessionId/settle',
    credential: 'operator',
    summary: 'Settle a play session',
    description: 'Like POST /ledger/settle: open bets count as lost, and a repeat gets the same answer.',
    body: z.strictObject({ transactionUuid: callerId.optional() }),
    success: { status: 200, schema: settledSession },
    errors: [...PLACE_ERRORS, ...SETTLE_ERRORS],
    handle: async ({ params, body, context }) => {
      const place = await placeOf(directory, params);
      const { sessionId } = params;
      const { answer, replayed } = await playSessions.settle(place, sessionId, body.transactionUuid, context);
      return { status: 200, body: answerBody(answer), replayed };
    },
  }),
];
