-- A state that leaves the cache overwrites its row. Most of a long one does not compress, so trying is not worth the time;
-- pages with room let a row be overwritten without touching the index; and what was overwritten is vacuumed early.
alter table cache.snapshots alter column state set storage external;
alter table cache.snapshots set (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.05,
  toast.autovacuum_vacuum_scale_factor = 0.05
);
