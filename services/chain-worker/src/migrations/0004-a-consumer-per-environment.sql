-- Each environment has a consumer of its own. Both begin where the one before them was: everything before its checkpoint
-- had ended, in either environment. The table is made after the migrations, so that a new installation has none yet.
do $$
begin
  if to_regclass('records.consumers') is null then return; end if;
  insert into records.consumers (name, position, event_id, ordinal)
    select divided, position, event_id, ordinal
      from records.consumers, unnest(array['chainWorkerTest', 'chainWorkerLive']) divided
     where name = 'chainWorker'
  on conflict (name) do nothing;
  delete from records.consumers where name = 'chainWorker';
end
$$;
