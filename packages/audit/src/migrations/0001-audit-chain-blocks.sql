-- The hash chain over the log, in blocks of at most 1,000 events: evidence that the log is the one that was
-- written, kept apart from it. Ordinals are dense from 1 in the order of the log.

create table records.chain_blocks (
  last_ordinal bigint primary key,
  first_ordinal bigint not null check (first_ordinal between 1 and last_ordinal),
  hash_before bytea not null check (length(hash_before) = 32),
  hash_after bytea not null check (length(hash_after) = 32),
  -- Where the last event stands in the store that holds the log. Not part of any hash.
  last_position text not null,
  -- The latest time at which an event of this block or of one before it was recorded. It never goes back,
  -- as a clock may, so that a time names one place of the log.
  recorded_until_ms bigint not null,
  -- One element an event, in order: 16 bytes of id, 32 of hash, and the rest in arrays.
  event_ids bytea not null,
  hashes bytea not null,
  streams text[] collate "C" not null,
  revisions bigint[] not null,
  recorded_ms bigint[] not null
);
-- The chain of a log that was put back to an older state: it names the events that were lost by it.
create table records.chain_blocks_set_aside (
  like records.chain_blocks,
  set_aside_at timestamptz not null
);

create index chain_blocks_by_time on records.chain_blocks (recorded_until_ms, last_ordinal);

-- A guard against accidents. Who owns the database can take it away: that is what noted heads are for.
create function records.refuse_change_of_chain() returns trigger language plpgsql as $$
begin
  raise exception 'The chain is evidence: its blocks are never changed or removed.';
end
$$;
create trigger chain_blocks_are_immutable before update or delete on records.chain_blocks
  for each row execute function records.refuse_change_of_chain();
