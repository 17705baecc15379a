-- A log that was put back to an older state does not know what was signed after it. Until no block can hold that any
-- more, nothing new is signed in the environment.
create table records.chain_signing_pauses (
  environment text collate "C" primary key check (environment in ('test', 'live')),
  ordered_at timestamptz not null default clock_timestamp(),
  -- Known when the chain has been asked for the first time after that.
  until_block_height numeric(20)
);
