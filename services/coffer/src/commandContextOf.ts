import { requestedBy } from '@coffer/event-store';
import type { RequestContext } from '@coffer/http';
import { type Clock, isoTimeOf } from '@coffer/kernel';

/** The context of the command that a request is. */
export const commandContextOf = (request: RequestContext, clock: Clock) =>
  requestedBy(request, isoTimeOf(clock));
