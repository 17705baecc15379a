-- Truth that is not an event: who may call, and what an app has set.

create table records.apps (
  app_id text collate "C" primary key,
  name text not null,
  scope_id text collate "C" not null,
  created_at timestamptz not null
);
create index apps_by_scope on records.apps (scope_id);

create table records.api_keys (
  key_id text collate "C" primary key,
  app_id text collate "C" not null references records.apps,
  environment text not null check (environment in ('test', 'live')),
  kind text not null check (kind in ('secret', 'publishable')),
  -- Keys are 200 random bits, so a plain hash cannot be searched; the secret itself is nowhere.
  token_sha256 text collate "C" not null unique check (token_sha256 ~ '^[0-9a-f]{64}$'),
  hint text not null,
  publishable_token text check ((kind = 'publishable') = (publishable_token is not null)),
  created_at timestamptz not null,
  -- The end of the grace after a rotation.
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index api_keys_by_app on records.api_keys (app_id, environment, kind);

create table records.currencies (
  app_id text collate "C" not null references records.apps,
  currency_id integer not null check (currency_id > 0),
  code text collate "C" not null,
  decimals smallint not null,
  -- 'native' or a base58 address; null where the currency is not on that chain.
  test_mint text,
  live_mint text,
  created_at timestamptz not null,
  primary key (app_id, currency_id),
  unique (app_id, code)
);

-- Balances are kept under the currency's id: another code, scale or mint would change what they are worth.
create function records.refuse_change_of_currency() returns trigger language plpgsql as $$
begin
  raise exception 'A currency is never changed or removed. Add another one.';
end
$$;
create trigger currencies_are_immutable before update or delete on records.currencies
  for each row execute function records.refuse_change_of_currency();

create table records.settings (
  app_id text collate "C" not null references records.apps,
  -- 'both', or the environment for which the value stands instead.
  environment text not null check (environment in ('both', 'test', 'live')),
  key text collate "C" not null,
  value jsonb not null,
  updated_at timestamptz not null,
  primary key (app_id, environment, key)
);

-- What operators have done, written in the transaction that did it. No secret stands in the details.
create table records.admin_actions (
  action_id bigint generated always as identity primary key,
  at timestamptz not null,
  actor text not null,
  request_id text not null,
  action text not null,
  app_id text,
  details jsonb not null
);
