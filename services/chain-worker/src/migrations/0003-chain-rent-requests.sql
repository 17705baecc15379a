-- How many requests of the move hold its row: two may come at once under one key, and only one of them be accepted. The
-- row goes with the last that is refused.
alter table records.chain_rent_sponsorships add column requests integer not null default 1;
