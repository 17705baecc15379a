-- Disposable: any row, or all of them, may be deleted at any time. The log is the truth.
create table cache.snapshots (
  stream text collate "C" not null,
  decider_version int not null,
  revision bigint not null,
  event_id uuid not null,
  state text not null,
  taken_at timestamptz not null default now(),
  primary key (stream, decider_version)
);
