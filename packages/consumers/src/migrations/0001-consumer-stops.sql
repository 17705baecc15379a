-- Where a consumer has stopped for good, so that every process can tell. A row counts for as long as the consumer's own
-- row has its epoch: whoever takes the lease since has ended it, and nobody has to clear it away.
create table records.consumer_stops (
  schema text not null,
  name text not null,
  epoch bigint not null,
  code text not null,
  reason text not null,
  -- The event to blame, where it is one.
  event jsonb,
  stopped_at timestamptz not null default clock_timestamp(),
  primary key (schema, name)
);
