-- The slot up to which the history of the address was seen without a hole. Null where a former release did not note it.
alter table records.reconcile_chain_histories add column covered_to numeric;
