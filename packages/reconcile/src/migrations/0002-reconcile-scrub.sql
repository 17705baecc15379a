-- How far the scrub of the log and the books has come. One row; without what it says the next pass begins anew.
create table records.scrub (
  one boolean primary key default true check (one),
  -- A JSON object, written as the release that `format` stands for writes it; null before the first turn.
  state text,
  format integer not null default 0,
  -- Nobody takes a turn before this, and nobody while another has the lease.
  due_at timestamptz,
  owner text,
  leased_until timestamptz,
  -- Goes up with each turn taken: what is written under an older one does not stand.
  turn bigint not null default 0
);
insert into records.scrub default values;
