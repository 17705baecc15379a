-- Sign-in under way. Nothing of it outlives its few minutes, and no address stands here in clear.

create table records.auth_siws_challenges (
  nonce text collate "C" primary key,
  app_id text collate "C" not null,
  environment text not null check (environment in ('test', 'live')),
  public_key text collate "C" not null,
  domain text not null,
  statement text not null,
  uri text not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null
);
create index auth_siws_challenges_by_expiry on records.auth_siws_challenges (expires_at);

-- One row an address: its one live code, and when mail went to it.
create table records.auth_email_codes (
  app_id text collate "C" not null,
  environment text not null check (environment in ('test', 'live')),
  address_hash text collate "C" not null check (address_hash ~ '^[0-9a-f]{64}$'),
  code_id uuid not null,
  -- Null once the code was used.
  code_hmac text collate "C" check (code_hmac ~ '^[0-9a-f]{64}$'),
  attempts_left smallint not null check (attempts_left >= 0),
  expires_at timestamptz not null,
  -- The sends of the last hour, oldest first.
  sent_at timestamptz[] not null,
  primary key (app_id, environment, address_hash)
);
create index auth_email_codes_by_expiry on records.auth_email_codes (expires_at);

-- Mail that has not been handed over yet; a row goes when its mail has gone.
create table records.auth_mail_outbox (
  mail_id uuid primary key,
  app_id text collate "C" not null,
  environment text not null check (environment in ('test', 'live')),
  address_hash text collate "C" not null,
  -- Address and text, sealed to the id of the mail.
  sealed jsonb not null,
  attempts integer not null,
  -- When it may be taken: a lease and a wait after a failure are both a later time.
  due_at timestamptz not null,
  -- Its code is worth nothing after that.
  expires_at timestamptz not null
);
create index auth_mail_outbox_by_due on records.auth_mail_outbox (due_at);
create index auth_mail_outbox_by_address on records.auth_mail_outbox (app_id, environment, address_hash);
