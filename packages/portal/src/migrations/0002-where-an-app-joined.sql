-- The end of the log when an app was put into the scope of others: what was told of the scope before is not for it. Null for an
-- app of a scope of its own, and for those made before these columns were there.
alter table records.apps
  add column joined_position text,
  add column joined_event_id text,
  add check ((joined_position is null) = (joined_event_id is null));
