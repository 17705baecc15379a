/** The list of all streams in the log, for the operator and the auditor. */
import type { Queryable } from '@coffer/database';
import { type Environment, parseStreamName } from '@coffer/kernel';
import { listRows } from './listRows.ts';
import type { Page, PageRequest } from './pages.ts';
import type { RowProjection } from './rowProjection.ts';
import { column, type RowTable, rowTable } from './rowTable.ts';

export interface StreamRow {
  readonly stream: string;
  /** Of the stream's last event. */
  readonly revision: number;
  readonly category: string;
  /** `environment` and `owner` are null where the name is not one of ours. */
  readonly environment: Environment | null;
  /** The app, or the scope for users, identities and wallets. */
  readonly owner: string | null;
}

export const streamTable: RowTable<StreamRow> = rowTable('streams', 'stream', {
  stream: column.text(),
  revision: column.integer,
  category: column.text(),
  environment: column.optional(column.text<Environment>()),
  owner: column.optional(column.text()),
});

export const streamsProjection: RowProjection<StreamRow> = {
  keyOf: ({ stream }) => stream,
  evolve(row, { stream, revision }) {
    if (row) return { ...row, revision };
    const parts = parseStreamName(stream);
    return {
      stream,
      revision,
      category: parts?.category ?? stream.split('-', 1).join(),
      environment: parts?.environment ?? null,
      owner: parts?.owner ?? null,
    };
  },
};

export interface StreamQuery extends PageRequest {
  readonly category?: string | undefined;
  readonly environment?: Environment | undefined;
  readonly owner?: string | undefined;
}

/** In the order of their first events. Throws `InvalidCursorError`. */
export function listStreams(db: Queryable, query: StreamQuery): Promise<Page<StreamRow>> {
  const { category, environment, owner } = query;
  return listRows(db, streamTable, 'oldestFirst', { category, environment, owner }, query);
}
