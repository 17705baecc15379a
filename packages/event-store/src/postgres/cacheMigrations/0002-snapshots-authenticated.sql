-- Each row carries a MAC of all that it says. Those of before have none and are not used: they go. A node of the
-- former release cannot write any more beside this one, and tells so; nothing but time is lost by it.
delete from cache.snapshots;
alter table cache.snapshots add column mac bytea not null;
