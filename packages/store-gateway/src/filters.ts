/** Which events a reader wants: by stream name or event type, by prefixes or a regular expression. */

import type { RecordedEvent } from '@coffer/event-store';
import streams, { type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { RefusalError } from './refusals.ts';

/** What a page of a filtered read looks at, where the client does not say. */
const DEFAULT_WINDOW = 32;

export interface EventFilter {
  readonly matches: (event: RecordedEvent) => boolean;
  /** A subscriber is told how far it has come after so many events, whether it wanted them or not. */
  readonly checkpointEvery: number;
}

/** Undefined without a filter. Throws a `RefusalError` for one that means nothing. */
export function filterOf(asked: ReadReq.Options): EventFilter | undefined {
  const filter = asked.getFilter();
  if (!filter) return undefined;
  const { FilterCase, WindowCase } = streams.ReadReq.Options.FilterOptions;
  const window = filter.getWindowCase() === WindowCase.MAX ? filter.getMax() : DEFAULT_WINDOW;
  const checkpointEvery = Math.max(1, window) * Math.max(1, filter.getCheckpointintervalmultiplier());
  switch (filter.getFilterCase()) {
    case FilterCase.STREAM_IDENTIFIER: {
      const matches = textFilter(filter.getStreamIdentifier());
      return { matches: ({ stream }) => matches(stream), checkpointEvery };
    }
    case FilterCase.EVENT_TYPE: {
      const matches = textFilter(filter.getEventType());
      return { matches: ({ type }) => matches(type), checkpointEvery };
    }
    default:
      throw new RefusalError('badRequest', 'A filter is on stream names or on event types.');
  }
}

type Expression = ReadReq.Options.FilterOptions.Expression;

function textFilter(expression: Expression | undefined): (text: string) => boolean {
  const source = expression?.getRegex() ?? '';
  if (source === '') {
    const prefixes = expression?.getPrefixList() ?? [];
    return (text) => prefixes.some((prefix) => text.startsWith(prefix));
  }
  try {
    const pattern = new RegExp(source);
    return (text) => pattern.test(text);
  } catch (error) {
    throw new RefusalError('badRequest', `The filter is no regular expression: ${String(error)}.`);
  }
}
