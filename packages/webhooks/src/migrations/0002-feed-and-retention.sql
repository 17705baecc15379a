-- A reader of the feed wants some types, of which an app's events may hold very few.
create index webhook_events_by_type on records.webhook_events (app_id, environment, type, sequence);

-- How many events the log had up to the source. Null, for events numbered before this column was there: never pruned.
alter table records.webhook_events add column ordinal bigint;

alter table records.webhook_sequences
  -- The last number whose event is no longer kept.
  add column pruned_sequence bigint not null default 0,
  -- A replay gives no fact up to this place a number: it had one.
  add column pruned_ordinal bigint not null default 0;
