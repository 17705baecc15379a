-- Blocks are found by their last ordinal and by time. Of everything else in them an ANALYZE would count the elements, those of
-- a thousand events in each block of its sample: 120 ms after 600,000 events, more with each. ADR 0085.
alter table records.chain_blocks
  alter column hash_before set statistics 0,
  alter column hash_after set statistics 0,
  alter column last_position set statistics 0,
  alter column event_ids set statistics 0,
  alter column hashes set statistics 0,
  alter column streams set statistics 0,
  alter column revisions set statistics 0,
  alter column recorded_ms set statistics 0;
