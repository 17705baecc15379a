/** The client of EventStoreDB with its own batches and without any guard: what our adapter is measured against. */
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';

export function openBareClient(connectionString: string) {
  const client = EventStoreDBClient.connectionString(connectionString);
  return {
    append: (
      stream: string,
      revision: number,
      { id, data }: { readonly id: string; readonly data: string },
    ) =>
      client.appendToStream(
        stream,
        jsonEvent({ id, type: 'BetPlaced', data: JSON.parse(data), metadata: { schemaVersion: 1 } }),
        { expectedRevision: revision < 0 ? NO_STREAM : BigInt(revision) },
      ),
    close: () => client.dispose(),
  };
}
