-- Sign-in sessions and the keys that sign their access tokens. No token stands here: an access token is signed and
-- forgotten, a refresh token follows by HMAC from a key outside of the database.

create table records.auth_signing_keys (
  kid text collate "C" primary key,
  environment text not null check (environment in ('test', 'live')),
  -- Published before it signs, and for as long as a token that it has signed may live.
  state text not null check (state in ('standby', 'signing', 'verify-only', 'retired')),
  public_jwk jsonb not null,
  -- Gone as soon as it is not needed.
  sealed_private_key jsonb check ((sealed_private_key is not null) = (state in ('standby', 'signing'))),
  created_at timestamptz not null,
  verify_until timestamptz check ((verify_until is not null) = (state = 'verify-only'))
);
create unique index auth_signing_keys_one_of_a_kind on records.auth_signing_keys (environment, state)
  where state in ('standby', 'signing');

-- One row a sign-in: the session and its family of refresh tokens are one thing.
create table records.auth_sessions (
  session_id text collate "C" primary key,
  app_id text collate "C" not null,
  scope_id text collate "C" not null,
  environment text not null check (environment in ('test', 'live')),
  user_id text collate "C" not null,
  auth_method text not null check (auth_method in ('siws', 'messenger', 'email')),
  signed_in_at timestamptz not null,
  -- Of the newest refresh token.
  generation integer not null default 0 check (generation >= 0),
  -- When the generations before it were first used, in order, up to the one just before: as many as may still be
  -- in their grace.
  first_used_at timestamptz[] not null default '{}' check (cardinality(first_used_at) <= generation),
  ended_at timestamptz,
  ended_because text check (ended_because in ('logout', 'reuse', 'user')),
  check ((ended_at is null) = (ended_because is null))
) with (fillfactor = 80);
create index auth_sessions_of_user on records.auth_sessions (scope_id, environment, user_id)
  where ended_at is null;
create index auth_sessions_by_age on records.auth_sessions (signed_in_at);
