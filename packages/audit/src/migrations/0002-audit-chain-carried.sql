-- An import carries a log into another store, which records every event anew: the times at which its events were
-- recorded first then stand in the chain alone. Of everything behind this ordinal they stand in the log as well,
-- and a verification compares them.
create table records.chain_carried (
  until_ordinal bigint not null check (until_ordinal >= 1)
);
create unique index chain_carried_once on records.chain_carried ((true));

-- Imports of former releases left no mark. The last block whose end is not recorded in the log at its time is
-- taken for carried; so is all of a log that is not in this database.
insert into records.chain_carried (until_ordinal)
select max(b.last_ordinal)
  from records.chain_blocks b
 where not exists (
         select from log.events e
          where e.position = case when b.last_position ~ '^[0-9]{1,18}$' then b.last_position::bigint end
            and floor(extract(epoch from e.created) * 1000) = b.recorded_ms[cardinality(b.recorded_ms)])
having count(*) > 0;
