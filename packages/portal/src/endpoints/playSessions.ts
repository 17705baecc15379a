/** Stranded play sessions, as an operator finds and settles them. */
import { type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import { type AppPlace, boundedText, callerId, pageCursor, pageSize } from '@coffer/kernel';
import { z } from 'zod';
import type { PortalOptions } from './portalEndpoints.ts';
import { placeOf } from './subject.ts';

/** What the portal needs of the ledger; bodies are answered as they come. */
export interface PortalPlaySessions {
  readonly schemas: { readonly page: z.ZodType; readonly settled: z.ZodType };
  /** What `settle` throws. */
  readonly settleErrors: readonly string[];
  readonly list: (
    place: AppPlace,
    query: {
      readonly userId: string | undefined;
      readonly status: 'open' | 'settled' | undefined;
      readonly limit: number;
      readonly cursor: string | undefined;
    },
    context: RequestContext,
  ) => Promise<{ readonly items: readonly unknown[]; readonly nextCursor: string | null }>;
  readonly settle: (
    request: AppPlace & { readonly sessionId: string; readonly transactionUuid: string | undefined },
    context: RequestContext,
  ) => Promise<{ readonly answer: unknown; readonly replayed: boolean }>;
}

export const playSessionEndpoints = ({
  directory,
  playSessions,
}: Pick<PortalOptions, 'directory' | 'playSessions'>): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/sessions',
    credential: 'operator',
    summary: 'List play sessions',
    query: z.strictObject({
      userId: boundedText(64).optional(),
      status: z.enum(['open', 'settled']).optional(),
      limit: pageSize,
      cursor: pageCursor.optional(),
    }),
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
    success: { status: 200, schema: playSessions.schemas.page },
    errors: ['portal/app_not_found', 'portal/environment_not_found'],
    handle: async ({ params, query, context }) => {
      const place = await placeOf(directory, params);
      const { userId, status, cursor } = query;
      const page = await playSessions.list(place, { userId, status, limit: query.limit, cursor }, context);
      return { status: 200, body: page };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/sessions/:sessionId/settle',
    credential: 'operator',
    summary: 'Settle a play session',
    description: 'As POST /ledger/settle: open bets count as lost, and a repeat answers the same.',
    body: z.strictObject({ transactionUuid: callerId.optional() }),
    success: { status: 200, schema: playSessions.schemas.settled },
    errors: ['portal/app_not_found', 'portal/environment_not_found', ...playSessions.settleErrors],
    handle: async ({ params, body, context }) => {
      const place = await placeOf(directory, params);
      const { answer, replayed } = await playSessions.settle(
        { ...place, sessionId: params.sessionId, transactionUuid: body.transactionUuid },
        context,
      );
      return { status: 200, body: answer, replayed };
    },
  }),
];
