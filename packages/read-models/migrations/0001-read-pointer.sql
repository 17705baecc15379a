-- Which version of the read models is live, for each shape of their tables. A release reads only the shape it
-- knows: while a new one is rolled out, old nodes keep reading their own.
create table records.read_pointer (
  shape integer primary key,
  version integer not null unique,
  moved_at timestamptz not null default clock_timestamp()
);
