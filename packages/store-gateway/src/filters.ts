/** Which events a reader wants: by stream name or event type, by prefixes or a regular expression. */

import type { RecordedEvent } from '@coffer/event-store';
import streams, { type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { expressionTest } from './expressions.ts';
import { RefusalError } from './refusals.ts';

/** How much a page of a filtered read looks at if the client does not say. */
const DEFAULT_WINDOW = 32;

export interface EventFilter {
  /** For each event of a page, whether it is wanted. */
  readonly wanted: (events: readonly RecordedEvent[]) => readonly boolean[];
  /** A subscriber gets a checkpoint after this many events, wanted or not. */
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
      return { wanted: (events) => matches(events.map(({ stream }) => stream)), checkpointEvery };
    }
    case FilterCase.EVENT_TYPE: {
      const matches = textFilter(filter.getEventType());
      return { wanted: (events) => matches(events.map(({ type }) => type)), checkpointEvery };
    }
    default:
      throw new RefusalError('badRequest', 'A filter is on stream names or on event types.');
  }
}

type Expression = ReadReq.Options.FilterOptions.Expression;

type TextFilter = (texts: readonly string[]) => readonly boolean[];

function textFilter(expression: Expression | undefined): TextFilter {
  const source = expression?.getRegex() ?? '';
  if (source !== '') {
    const matches = expressionTest(source);
    return (texts) => texts.map(matches);
  }
  const prefixes = expression?.getPrefixList() ?? [];
  return (texts) => texts.map((text) => prefixes.some((prefix) => text.startsWith(prefix)));
}
