-- As before, but for the notification: who appends sends it, apart from the commit. ADR 0076. While a process of the release
-- before still appends, others find its events by their next look.
--
-- Appends a batch of entries, each to one stream and decided on its own, at most one entry a stream.
--
-- The statements are separate on purpose: under READ COMMITTED each has its own snapshot, so everything after
-- the lock sees all that was committed before it. Lock and check in one statement would read a snapshot older
-- than the lock and write a revision twice.
--
-- entry_expected: a revision, or -1 no stream, -2 any, -4 stream exists. entry_expected_id: the id of the event
-- at that revision where the caller knows it, else null. event_entry: the number of the event's entry, from 1;
-- event_place: the event's place in its entry, from 1. Events stand in the order of their entries.
--
-- Answers the position before the batch and, for each entry: its verdict (0 appended, 1 conflict, 2 another
-- event than the expected id, 3 the very events were found), the stream's last revision before (-1: none),
-- and for verdict 3 the last revision and position found.
create or replace function log.append_v1(
  entry_stream text[], entry_expected bigint[], entry_expected_id uuid[],
  event_entry int[], event_place int[], event_id uuid[], event_type text[], event_data text[],
  event_metadata text[],
  out base bigint, out verdicts int[], out current_revisions bigint[],
  out found_revisions bigint[], out found_positions bigint[]
)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  locked_at timestamptz;
begin
  perform pg_advisory_xact_lock(7263000);

  base := coalesce((select max(e.position) from log.events e), 0);
  locked_at := clock_timestamp();

  -- The last event of each stream by an ordered limit-1 subquery: a join could scan the growing table.
  select array_agg(coalesce(latest.revision, -1) order by entry.number),
         array_agg(
           case
             when entry.expected = coalesce(latest.revision, -1)
               then case when entry.expected_id <> latest.id then 2 else 0 end
             when entry.expected >= -1 then 1
             when entry.expected = -4 and latest.revision is null then 1
             else 0
           end order by entry.number)
    into current_revisions, verdicts
    from unnest(entry_stream, entry_expected, entry_expected_id)
      with ordinality as entry(stream, expected, expected_id, number)
    left join lateral (
      select e.revision, e.id from log.events e
      where e.stream = entry.stream order by e.revision desc limit 1
    ) latest on true;

  -- Without an exact revision a retry can only be told by its ids, looked for among the stream's last 1,000.
  if -2 = any(entry_expected) or -4 = any(entry_expected) then
    select array_agg(weak.verdict order by entry.number),
           array_agg(weak.revision order by entry.number),
           array_agg(weak.position order by entry.number)
      into verdicts, found_revisions, found_positions
      from unnest(verdicts, entry_expected, current_revisions, entry_stream)
        with ordinality as entry(verdict, expected, current_revision, stream, number)
      cross join lateral (
        select
          case
            when entry.verdict <> 0 or entry.expected >= -1 then entry.verdict
            -- The first id decides. Unknown: all are written. Known: all must be.
            when (array_agg(seen.revision order by wanted.place))[1] is null then 0
            when count(*) = count(seen.revision) then 3
            else 1
          end as verdict,
          max(seen.revision) as revision, max(seen.position) as position
        from (
          select ids.id, ids.place from unnest(event_entry, event_place, event_id) as ids(entry, place, id)
          where ids.entry = entry.number
        ) wanted
        left join lateral (
          select e.revision, e.position from log.events e
          where e.stream = entry.stream and e.revision > entry.current_revision - 1000 and e.id = wanted.id
          order by e.revision desc limit 1
        ) seen on true
      ) weak;
  end if;

  if 0 = all(verdicts) then
    insert into log.events (position, stream, revision, id, type, data, metadata, created)
    select base + event.number, entry_stream[event.entry], current_revisions[event.entry] + event.place,
           event.id, event.type, event.data, event.metadata, locked_at
    from unnest(event_entry, event_place, event_id, event_type, event_data, event_metadata)
      with ordinality as event(entry, place, id, type, data, metadata, number);
  elsif 0 = any(verdicts) then
    -- Positions stay dense: those of the accepted events are counted, which the common case is spared.
    insert into log.events (position, stream, revision, id, type, data, metadata, created)
    select base + row_number() over (order by event.number),
           entry_stream[event.entry], current_revisions[event.entry] + event.place,
           event.id, event.type, event.data, event.metadata, locked_at
    from unnest(event_entry, event_place, event_id, event_type, event_data, event_metadata)
      with ordinality as event(entry, place, id, type, data, metadata, number)
    where verdicts[event.entry] = 0;
  end if;
end
$$;
