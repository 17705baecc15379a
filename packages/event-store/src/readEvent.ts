import type { EventStore, StreamEvent } from './port.ts';

/** The event at a revision that is known to exist. */
export async function readEvent(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  revision: number,
): Promise<StreamEvent> {
  for await (const page of store.readStream(stream, { fromRevision: revision, limit: 1 })) {
    if (page[0]) return page[0];
  }
  throw new Error(`Stream ${stream} has no event at revision ${revision}.`);
}
