-- Appends as log.append_v1 does, for batches in which an entry stands for several appends to its stream.
--
-- Such an entry says in fresh_entry (its number, from 1) and fresh_id by which ids its appends are known. Where one of
-- them stands among the stream's last 1,000 events, or an expected stream does not exist, the entry is a conflict and
-- nothing of it is written: its appends are for the caller to send one by one. Else it is written behind whatever is
-- there. Of entries without fresh ids everything is as in log.append_v1.
create function log.append_v2(
  entry_stream text[], entry_expected bigint[], entry_expected_id uuid[],
  event_entry int[], event_place int[], event_id uuid[], event_type text[], event_data text[],
  event_metadata text[], fresh_entry int[], fresh_id uuid[],
  out base bigint, out verdicts int[], out current_revisions bigint[],
  out found_revisions bigint[], out found_positions bigint[]
)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  -- No stream is ever there.
  never constant bigint := 9223372036854775807;
begin
  -- Statements after it see all that was committed before it, those of log.append_v1 as well.
  perform pg_advisory_xact_lock(7263000);

  select array_agg(
           case
             when fresh.ids is null then entry.expected
             when entry.expected = -4 and latest.revision is null then never
             when exists (
               select from (
                 select e.id from log.events e
                 where e.stream = entry.stream and e.revision > latest.revision - 1000
                 order by e.revision desc
               ) recent
               where recent.id = any(fresh.ids)
             ) then never
             else coalesce(latest.revision, -1)
           end order by entry.number)
    into entry_expected
    from unnest(entry_stream, entry_expected) with ordinality as entry(stream, expected, number)
    left join (
      select given.entry, array_agg(given.id) as ids
      from unnest(fresh_entry, fresh_id) as given(entry, id) group by given.entry
    ) fresh on fresh.entry = entry.number
    left join lateral (
      select e.revision from log.events e
      where fresh.ids is not null and e.stream = entry.stream order by e.revision desc limit 1
    ) latest on true;

  select answer.base, answer.verdicts, answer.current_revisions, answer.found_revisions, answer.found_positions
    into base, verdicts, current_revisions, found_revisions, found_positions
    from log.append_v1(entry_stream, entry_expected, entry_expected_id, event_entry, event_place, event_id,
                       event_type, event_data, event_metadata) as answer;
end
$$;
