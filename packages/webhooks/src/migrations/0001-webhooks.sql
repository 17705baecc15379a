-- Webhooks: which number stands for which fact, whom it goes to, and what became of it. No event holds any of this.

create table records.webhook_sequences (
  app_id text collate "C" primary key references records.apps,
  last bigint not null default 0 check (last >= 0),
  -- How many events the log had where numbering began for the app: fixed once, so that a replay numbers alike.
  since_ordinal bigint not null
);

create table records.webhook_events (
  app_id text collate "C" not null references records.apps,
  sequence bigint not null check (sequence > 0),
  event_id text collate "C" not null unique,
  type text collate "C" not null,
  environment text collate "C" not null check (environment in ('test', 'live')),
  object_id text collate "C" not null,
  user_id text collate "C",
  -- The source.
  stream text collate "C" not null,
  revision bigint not null,
  created_at timestamptz not null,
  -- The envelope without previousSequence, which depends on the subscription.
  body text not null,
  primary key (app_id, sequence),
  unique (app_id, stream, revision, type)
);
create index webhook_events_by_object on records.webhook_events (app_id, object_id, sequence);

create table records.webhook_subscriptions (
  subscription_id text collate "C" primary key,
  app_id text collate "C" not null references records.apps,
  url text not null,
  -- Null: all types, both environments.
  events text[],
  environment text collate "C" check (environment in ('test', 'live')),
  -- A deleted one is forgotten once its last deliveries have been marked failed.
  state text collate "C" not null check (state in ('enabled', 'disabled', 'deleted')),
  disabled_reason text collate "C" check ((state = 'disabled') = (disabled_reason is not null)),
  secret jsonb not null,
  previous_secret jsonb,
  previous_secret_until timestamptz check ((previous_secret is null) = (previous_secret_until is null)),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The number of the last event that was for it.
  last_matched bigint,
  -- Of the first failure since the last success.
  failing_since timestamptz,
  -- Grows with each change.
  epoch bigint not null default 1
);
create index webhook_subscriptions_by_app on records.webhook_subscriptions (app_id, created_at, subscription_id);

-- Written thousands of times a second, so it refers to rows that were written with it without checking them again.
create table records.webhook_deliveries (
  subscription_id text collate "C" not null,
  sequence bigint not null,
  app_id text collate "C" not null,
  previous_sequence bigint,
  state text collate "C" not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  -- Begun, and ended without success. The difference: attempts under way, or broken off with their sender.
  attempts integer not null default 0,
  failures integer not null default 0 check (failures <= attempts),
  first_attempt_at timestamptz,
  -- While an attempt is under way: when it counts as broken off.
  next_attempt_at timestamptz not null,
  primary key (subscription_id, sequence)
);
-- First attempts apart from retries.
create index webhook_deliveries_due on records.webhook_deliveries (subscription_id, least(attempts, 1), next_attempt_at)
  where state = 'pending';
create index webhook_deliveries_failed on records.webhook_deliveries (subscription_id, sequence)
  where state = 'failed';
create index webhook_deliveries_by_event on records.webhook_deliveries (app_id, sequence);

create table records.webhook_attempts (
  subscription_id text collate "C" not null,
  sequence bigint not null,
  number integer not null,
  started_at timestamptz not null,
  -- Null until it ends; for ever, if its sender died.
  duration_ms integer,
  status smallint,
  error text collate "C",
  answer_head text,
  primary key (subscription_id, sequence, number)
);
create index webhook_attempts_by_time on records.webhook_attempts (subscription_id, started_at);
