/** What is told of cached states, for metrics. */

/** How a state that was not cached was found: on its way to a snapshot, in one, or by a fold of the whole stream. */
type ReturnSource = 'queue' | 'snapshot' | 'fold';

export interface StreamReturn {
  readonly source: ReturnSource;
  readonly seconds: number;
  readonly foldedEvents: number;
}

export interface StatesStats {
  /** Including those on their way to a snapshot. */
  readonly cachedBytes: number;
  readonly cachedStreams: number;
  /** Further streams of which an outline is kept. */
  readonly outlinedStreams: number;
  readonly hits: number;
  readonly outlineHits: number;
  readonly evictions: number;
  readonly snapshotsWaiting: number;
  readonly snapshotsWritten: number;
  /** For lack of room or time, or since they could not be written. */
  readonly snapshotsDropped: number;
}
