/** Which events a reader wants: by stream name or event type, by prefixes or a regular expression. */

import { createContext, runInContext, Script } from 'node:vm';
import type { RecordedEvent } from '@coffer/event-store';
import streams, { type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { RefusalError } from './refusals.ts';

/** What a page of a filtered read looks at, where the client does not say. */
const DEFAULT_WINDOW = 32;

export interface EventFilter {
  /** Of each event of a page, whether it is wanted. Throws a `RefusalError` when that takes too long to tell. */
  readonly wanted: (events: readonly RecordedEvent[]) => readonly boolean[];
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
  if (source !== '') return patternFilter(source);
  const prefixes = expression?.getPrefixList() ?? [];
  return (texts) => texts.map((text) => prefixes.some((prefix) => text.startsWith(prefix)));
}

/** The pattern is the client's, the thread is everybody's: one page may take so long, and no longer. */
const MAX_PATTERN_MS = 100;

/** In a context of its own, because only code that is run in one can be stopped while it runs. */
function patternFilter(source: string): TextFilter {
  try {
    new RegExp(source);
  } catch (error) {
    throw new RefusalError('badRequest', `The filter is no regular expression: ${String(error)}.`);
  }
  const context = createContext({ source, texts: [] });
  runInContext('const pattern = new RegExp(source)', context);
  return (texts) => {
    context.texts = texts;
    try {
      const matches: unknown = TEST_ALL.runInContext(context, { timeout: MAX_PATTERN_MS });
      return Array.isArray(matches) ? matches.map((match) => match === true) : [];
    } catch (error) {
      if (!isTimeout(error)) throw error;
      throw new RefusalError('badRequest', `The filter takes too long: ${source}.`);
    }
  };
}

const TEST_ALL = new Script('texts.map((text) => pattern.test(text))');

const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'code' in error &&
  error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
