-- Every 20,000 events instead of a fifth of the log: their pages are still in memory, and were written since the last
-- checkpoint. Frozen at once, since nothing in the log ever changes: no later vacuum has to read them again. ADR 0084.
alter table log.events set (
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 20000,
  autovacuum_freeze_min_age = 0
);
