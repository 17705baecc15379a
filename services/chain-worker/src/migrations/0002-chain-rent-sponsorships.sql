-- Token accounts of recipients that an app has paid for, or is about to: the fee payer never pays for one that is not
-- here, so what it pays in a day is bounded by the caps. One row a move, however often it is tried.
create table records.chain_rent_sponsorships (
  move_id text collate "C" primary key,
  app_id text collate "C" not null,
  environment text collate "C" not null check (environment in ('test', 'live')),
  user_id text collate "C" not null,
  -- Of the database's clock, in UTC: the same for every process.
  sponsored_on date not null,
  -- Something may have been signed that makes the account: from then on it stays counted.
  is_spent boolean not null
);
create index chain_rent_sponsorships_by_day
  on records.chain_rent_sponsorships (app_id, environment, sponsored_on, user_id);
