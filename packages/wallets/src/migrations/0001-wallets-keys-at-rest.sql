-- Keys of wallets, sealed. No row here opens without a master key, and master keys are never in the database.

-- Which versions of the master keys have been put to use, and by what they are recognized.
create table records.wallets_master_keys (
  environment text collate "C" not null check (environment in ('test', 'live')),
  version integer not null check (version > 0),
  check_value bytea not null check (octet_length(check_value) = 32),
  activated_at timestamptz not null,
  activated_by text not null,
  request_id text not null,
  primary key (environment, version)
);

-- The version under which keys are sealed now. Whoever seals one holds this row shared, so that none comes to stand
-- under an older version after a rotation has committed.
create table records.wallets_current_master_key (
  environment text collate "C" primary key,
  version integer not null,
  foreign key (environment, version) references records.wallets_master_keys
);

create table records.wallets_sealed_keys (
  wallet_id text collate "C" primary key,
  environment text collate "C" not null,
  scope_id text collate "C" not null,
  public_key bytea not null unique check (octet_length(public_key) = 32),
  -- Of the way it is sealed.
  format smallint not null,
  master_key_version integer not null,
  -- Nonce of 12 bytes, ciphertext of 32, tag of 16.
  wrapped_data_key bytea not null check (octet_length(wrapped_data_key) = 60),
  sealed_seed bytea not null check (octet_length(sealed_seed) = 60),
  created_at timestamptz not null,
  foreign key (environment, master_key_version) references records.wallets_master_keys
);
-- For counting the keys of each version and for going through those of an old one.
create index wallets_sealed_keys_by_version
  on records.wallets_sealed_keys (environment, master_key_version, wallet_id);

create function records.wallets_keep_key() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and new.wallet_id = old.wallet_id and new.environment = old.environment and new.scope_id = old.scope_id
     and new.public_key = old.public_key and new.format = old.format and new.sealed_seed = old.sealed_seed
     and new.created_at = old.created_at then
    return new;
  end if;
  raise exception 'The key of a wallet is never changed or removed: what it holds would be lost. Only its data key is wrapped anew.';
end
$$;
create trigger wallets_sealed_keys_are_kept before update or delete on records.wallets_sealed_keys
  for each row execute function records.wallets_keep_key();
create trigger wallets_sealed_keys_stay before truncate on records.wallets_sealed_keys
  for each statement execute function records.wallets_keep_key();

-- Every opening of a key, written before it is opened.
create table records.wallets_key_openings (
  opening_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  wallet_id text collate "C" not null,
  environment text collate "C" not null,
  -- Who it was opened for: `key:<id>`, `operator`, a user's session; `service` where it is our own work.
  actor text not null,
  -- What for, in the words of whoever asked.
  purpose text not null,
  request_id text not null
);
create index wallets_key_openings_by_wallet on records.wallets_key_openings (wallet_id, opening_id);

create function records.wallets_keep_opening() returns trigger language plpgsql as $$
begin
  raise exception 'The openings of keys are a record: they are only added to.';
end
$$;
create trigger wallets_key_openings_are_kept before update or delete on records.wallets_key_openings
  for each row execute function records.wallets_keep_opening();
create trigger wallets_key_openings_stay before truncate on records.wallets_key_openings
  for each statement execute function records.wallets_keep_opening();
