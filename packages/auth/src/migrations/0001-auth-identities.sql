-- Whom an identity stands for: personal data, sealed, outside the log.

-- The key of the identities' hashes never changes; with another one everybody would be a new user.
create table records.auth_identity_key (
  is_only boolean primary key default true check (is_only),
  fingerprint text collate "C" not null
);

-- One key for each user. Destroying it is what forgets the person; the row stays, so that a sign-in which was
-- under way at that moment finds it destroyed and writes nothing.
create table records.auth_data_keys (
  environment text not null check (environment in ('test', 'live')),
  scope_id text collate "C" not null,
  user_id text collate "C" not null,
  sealed_key jsonb,
  created_at timestamptz not null,
  destroyed_at timestamptz,
  primary key (environment, scope_id, user_id),
  check ((sealed_key is null) = (destroyed_at is not null))
);

-- External id and profile as of the last sign-in, sealed with the user's key.
create table records.auth_identities (
  identity_id text collate "C" primary key,
  environment text not null,
  scope_id text collate "C" not null,
  user_id text collate "C" not null,
  sealed jsonb not null,
  updated_at timestamptz not null,
  foreign key (environment, scope_id, user_id) references records.auth_data_keys
);
create index auth_identities_by_user on records.auth_identities (environment, scope_id, user_id);
