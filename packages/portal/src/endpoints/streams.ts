/** The log as stored, in JSON lines. */
import type { Position, RecordedEvent } from '@coffer/event-store';
import { type Endpoint, endpoint } from '@coffer/http';
import { type Environment, environment, isOurStream, parseStreamName, Rejection } from '@coffer/kernel';
import { z } from 'zod';
import type { AppDirectory } from '../appDirectory.ts';
import { reject } from '../errors.ts';
import { storedEventLine, storedLine } from '../storedEventLine.ts';
import type { LogReader, PortalOptions } from './options.ts';
import { appOf } from './subject.ts';

/** A position is opaque; this only limits what the store is asked to read. */
const position = z.string().min(1).max(64);

const logQuery = z.strictObject({
  after: position.optional(),
  environment: environment.optional(),
  app: z.string().optional(),
});

const streamRow = z.strictObject({
  stream: z.string(),
  category: z.string().nullable(),
  environment: z.string().nullable(),
  owner: z.string().nullable(),
  firstType: z.string(),
  position: z.string(),
  createdAt: z.iso.datetime(),
});

const LOG_ERRORS = ['portal/app_not_found', 'portal/invalid_position'];

export const streamEndpoints = ({
  directory,
  eventStore,
}: Pick<PortalOptions, 'directory' | 'eventStore'>): readonly Endpoint[] => {
  const readLog = async (query: z.infer<typeof logQuery>, signal: AbortSignal) => {
    const isWanted = await streamFilter(directory, query);
    const after = query.after === undefined ? undefined : await positionOf(eventStore, query.after);
    return eventsAfter(eventStore, after, signal, ({ stream }) => isWanted(stream));
  };

  return [
    endpoint({
      method: 'GET',
      path: '/portal/log',
      credential: 'operator',
      summary: 'Export the stored events in the order of the log, as JSON lines',
      description:
        'Resume after the position of the last line received. An app includes what its scope owns.',
      query: logQuery,
      success: { status: 200, lines: true, schema: storedLine },
      errors: LOG_ERRORS,
      handle: async ({ query, context }) => {
        const events = await readLog(query, context.signal);
        return { status: 200, lines: mapped(events, storedEventLine) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/portal/streams',
      credential: 'operator',
      summary: 'List the streams in the order of their first events, as JSON lines',
      query: logQuery,
      success: { status: 200, lines: true, schema: streamRow },
      errors: LOG_ERRORS,
      handle: async ({ query, context }) => {
        const events = await readLog(query, context.signal);
        return { status: 200, lines: mapped(firstOfStreams(events), streamLine) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/portal/streams/:name',
      credential: 'operator',
      summary: 'Show the stored events of one stream, as JSON lines',
      success: { status: 200, lines: true, schema: storedLine },
      errors: ['portal/stream_not_found'],
      handle: ({ params, context }) => ({
        status: 200,
        lines: mapped(eventsOf(eventStore, params.name, context.signal), storedEventLine),
      }),
    }),
  ];
};

/** Users, identities and wallets belong to a scope and the rest to an app, so both are matched. */
export async function streamFilter(
  directory: AppDirectory,
  wanted: { readonly environment?: Environment | undefined; readonly app?: string | undefined },
): Promise<(stream: string) => boolean> {
  if (wanted.environment === undefined && wanted.app === undefined) return () => true;
  const app = wanted.app === undefined ? undefined : await appOf(directory, wanted.app);
  return (stream) => {
    const name = parseStreamName(stream);
    if (!name) return false;
    if (wanted.environment && name.environment !== wanted.environment) return false;
    return !app || name.owner === app.appId || name.owner === app.scopeId;
  };
}

/** Throws `request/invalid` if the store cannot read it, and `portal/invalid_position` if there is no event there. */
async function positionOf(eventStore: LogReader, after: string): Promise<Position> {
  const position = eventStore.parsePosition(after);
  if (position === undefined) {
    throw new Rejection('request/invalid', {
      issues: [{ path: 'after', message: 'must be a position as this log writes them' }],
    });
  }
  if (!(await eventStore.placeAt(position))) throw reject('portal/invalid_position', { after });
  return position;
}

async function* eventsAfter(
  eventStore: LogReader,
  after: Position | undefined,
  signal: AbortSignal,
  isWanted: (event: RecordedEvent) => boolean,
): AsyncGenerator<RecordedEvent> {
  for await (const page of eventStore.readAll(after === undefined ? {} : { from: after })) {
    if (signal.aborted) return;
    for (const event of page) if (isWanted(event)) yield event;
  }
}

async function* eventsOf(
  eventStore: LogReader,
  stream: string,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent> {
  // Streams of other users of a shared server are not listed either.
  if (!isOurStream(stream)) throw reject('portal/stream_not_found', { stream });
  let exists = false;
  for await (const page of eventStore.readStream(stream)) {
    if (signal.aborted) return;
    exists ||= page.length > 0;
    yield* page;
  }
  // Thrown before the first line, so it is answered as a plain refusal.
  if (!exists) throw reject('portal/stream_not_found', { stream });
}

async function* firstOfStreams(events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent> {
  for await (const event of events) if (event.revision === 0) yield event;
}

const streamLine = ({ stream, type, position: at, recordedAt }: RecordedEvent) => ({
  stream,
  category: parseStreamName(stream)?.category ?? null,
  environment: parseStreamName(stream)?.environment ?? null,
  owner: parseStreamName(stream)?.owner ?? null,
  firstType: type,
  position: at,
  createdAt: recordedAt.toISOString(),
});

async function* mapped<Value, Line>(
  values: AsyncIterable<Value>,
  lineOf: (value: Value) => Line,
): AsyncGenerator<Line> {
  for await (const value of values) yield lineOf(value);
}
