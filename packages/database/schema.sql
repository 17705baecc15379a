
table cache.knex_migrations
  column id integer not null default nextval('cache.knex_migrations_id_seq'::regclass)
  column name character varying(255)
  column batch integer
  column migration_time timestamp with time zone
  constraint knex_migrations_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX knex_migrations_pkey ON cache.knex_migrations USING btree (id)

table cache.knex_migrations_lock
  column index integer not null default nextval('cache.knex_migrations_lock_index_seq'::regclass)
  column is_locked integer
  constraint knex_migrations_lock_pkey PRIMARY KEY (index)
  CREATE UNIQUE INDEX knex_migrations_lock_pkey ON cache.knex_migrations_lock USING btree (index)

table cache.snapshots
  column stream text collate "C" not null
  column decider_version integer not null
  column revision bigint not null
  column event_id uuid not null
  column state text not null
  column taken_at timestamp with time zone not null default now()
  column mac bytea not null
  column bytes bytea not null
  constraint snapshots_pkey PRIMARY KEY (stream, decider_version)
  CREATE UNIQUE INDEX snapshots_pkey ON cache.snapshots USING btree (stream, decider_version)

CREATE OR REPLACE FUNCTION log.append_v1(entry_stream text[], entry_expected bigint[], entry_expected_id uuid[], event_entry integer[], event_place integer[], event_id uuid[], event_type text[], event_data text[], event_metadata text[], OUT base bigint, OUT verdicts integer[], OUT current_revisions bigint[], OUT found_revisions bigint[], OUT found_positions bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  locked_at timestamptz;
begin
  perform pg_advisory_xact_lock(7263000);

  base := coalesce((select max(e.position) from log.events e), 0);
  locked_at := clock_timestamp();

  -- The last event of each stream by an ordered limit-1 subquery: a join could scan the growing table.
  select array_agg(coalesce(latest.revision, -1) order by entry.number),
         array_agg(
           case
             when entry.expected = coalesce(latest.revision, -1)
               then case when entry.expected_id <> latest.id then 2 else 0 end
             when entry.expected >= -1 then 1
             when entry.expected = -4 and latest.revision is null then 1
             else 0
           end order by entry.number)
    into current_revisions, verdicts
    from unnest(entry_stream, entry_expected, entry_expected_id)
      with ordinality as entry(stream, expected, expected_id, number)
    left join lateral (
      select e.revision, e.id from log.events e
      where e.stream = entry.stream order by e.revision desc limit 1
    ) latest on true;

  -- Without an exact revision a retry can only be told by its ids, looked for among the stream's last 1,000.
  if -2 = any(entry_expected) or -4 = any(entry_expected) then
    select array_agg(weak.verdict order by entry.number),
           array_agg(weak.revision order by entry.number),
           array_agg(weak.position order by entry.number)
      into verdicts, found_revisions, found_positions
      from unnest(verdicts, entry_expected, current_revisions, entry_stream)
        with ordinality as entry(verdict, expected, current_revision, stream, number)
      cross join lateral (
        select
          case
            when entry.verdict <> 0 or entry.expected >= -1 then entry.verdict
            -- The first id decides. Unknown: all are written. Known: all must be.
            when (array_agg(seen.revision order by wanted.place))[1] is null then 0
            when count(*) = count(seen.revision) then 3
            else 1
          end as verdict,
          max(seen.revision) as revision, max(seen.position) as position
        from (
          select ids.id, ids.place from unnest(event_entry, event_place, event_id) as ids(entry, place, id)
          where ids.entry = entry.number
        ) wanted
        left join lateral (
          select e.revision, e.position from log.events e
          where e.stream = entry.stream and e.revision > entry.current_revision - 1000 and e.id = wanted.id
          order by e.revision desc limit 1
        ) seen on true
      ) weak;
  end if;

  if 0 = all(verdicts) then
    insert into log.events (position, stream, revision, id, type, data, metadata, created)
    select base + event.number, entry_stream[event.entry], current_revisions[event.entry] + event.place,
           event.id, event.type, event.data, event.metadata, locked_at
    from unnest(event_entry, event_place, event_id, event_type, event_data, event_metadata)
      with ordinality as event(entry, place, id, type, data, metadata, number);
  elsif 0 = any(verdicts) then
    -- Positions stay dense: those of the accepted events are counted, which the common case is spared.
    insert into log.events (position, stream, revision, id, type, data, metadata, created)
    select base + row_number() over (order by event.number),
           entry_stream[event.entry], current_revisions[event.entry] + event.place,
           event.id, event.type, event.data, event.metadata, locked_at
    from unnest(event_entry, event_place, event_id, event_type, event_data, event_metadata)
      with ordinality as event(entry, place, id, type, data, metadata, number)
    where verdicts[event.entry] = 0;
  end if;
end
$function$


CREATE OR REPLACE FUNCTION log.append_v2(entry_stream text[], entry_expected bigint[], entry_expected_id uuid[], event_entry integer[], event_place integer[], event_id uuid[], event_type text[], event_data text[], event_metadata text[], fresh_entry integer[], fresh_id uuid[], OUT base bigint, OUT verdicts integer[], OUT current_revisions bigint[], OUT found_revisions bigint[], OUT found_positions bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  -- No stream is ever there.
  never constant bigint := 9223372036854775807;
begin
  -- Statements after it see all that was committed before it, those of log.append_v1 as well.
  perform pg_advisory_xact_lock(7263000);

  select array_agg(
           case
             when fresh.ids is null then entry.expected
             when entry.expected = -4 and latest.revision is null then never
             when exists (
               select from (
                 select e.id from log.events e
                 where e.stream = entry.stream and e.revision > latest.revision - 1000
                 order by e.revision desc
               ) recent
               where recent.id = any(fresh.ids)
             ) then never
             else coalesce(latest.revision, -1)
           end order by entry.number)
    into entry_expected
    from unnest(entry_stream, entry_expected) with ordinality as entry(stream, expected, number)
    left join (
      select given.entry, array_agg(given.id) as ids
      from unnest(fresh_entry, fresh_id) as given(entry, id) group by given.entry
    ) fresh on fresh.entry = entry.number
    left join lateral (
      select e.revision from log.events e
      where fresh.ids is not null and e.stream = entry.stream order by e.revision desc limit 1
    ) latest on true;

  select answer.base, answer.verdicts, answer.current_revisions, answer.found_revisions, answer.found_positions
    into base, verdicts, current_revisions, found_revisions, found_positions
    from log.append_v1(entry_stream, entry_expected, entry_expected_id, event_entry, event_place, event_id,
                       event_type, event_data, event_metadata) as answer;
end
$function$


table log.events
  column "position" bigint not null
  column stream text collate "C" not null
  column revision bigint not null
  column id uuid not null
  column type text collate "C" not null
  column data text not null
  column metadata text not null
  column created timestamp with time zone not null
  constraint events_pkey PRIMARY KEY ("position")
  constraint events_stream_revision UNIQUE (stream, revision)
  CREATE UNIQUE INDEX events_pkey ON log.events USING btree ("position")
  CREATE UNIQUE INDEX events_stream_revision ON log.events USING btree (stream, revision)

table log.knex_migrations
  column id integer not null default nextval('log.knex_migrations_id_seq'::regclass)
  column name character varying(255)
  column batch integer
  column migration_time timestamp with time zone
  constraint knex_migrations_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX knex_migrations_pkey ON log.knex_migrations USING btree (id)

table log.knex_migrations_lock
  column index integer not null default nextval('log.knex_migrations_lock_index_seq'::regclass)
  column is_locked integer
  constraint knex_migrations_lock_pkey PRIMARY KEY (index)
  CREATE UNIQUE INDEX knex_migrations_lock_pkey ON log.knex_migrations_lock USING btree (index)

table read_v1.accounts
  column stream text collate "C" not null
  column ordinal bigint not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column user_id text not null
  column currency_id integer not null
  column available numeric not null
  column held numeric not null
  constraint accounts_available_check CHECK ((available >= (0)::numeric))
  constraint accounts_held_check CHECK ((held >= (0)::numeric))
  constraint accounts_ordinal_key UNIQUE (ordinal)
  constraint accounts_pkey PRIMARY KEY (stream)
  CREATE INDEX accounts_of_user ON read_v1.accounts USING btree (app_id, environment, user_id)
  CREATE UNIQUE INDEX accounts_ordinal_key ON read_v1.accounts USING btree (ordinal)
  CREATE UNIQUE INDEX accounts_pkey ON read_v1.accounts USING btree (stream)

table read_v1.commissions
  column stream text collate "C" not null
  column ordinal bigint not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column idem_key text collate "C" not null
  column kind text not null
  column user_id text not null
  column currency_id integer not null
  column amount numeric not null
  column accruals integer not null
  constraint commissions_kind_check CHECK ((kind = ANY (ARRAY['payout'::text, 'distribution'::text, 'withdrawal'::text])))
  constraint commissions_ordinal_key UNIQUE (ordinal)
  constraint commissions_pkey PRIMARY KEY (stream)
  CREATE INDEX commissions_of_app ON read_v1.commissions USING btree (app_id, environment)
  CREATE UNIQUE INDEX commissions_ordinal_key ON read_v1.commissions USING btree (ordinal)
  CREATE UNIQUE INDEX commissions_pkey ON read_v1.commissions USING btree (stream)

table read_v1.consumers
  column name text not null
  column "position" text
  column event_id text
  column ordinal bigint
  column epoch bigint not null default 0
  column owner text
  column leased_until timestamp with time zone
  column updated_at timestamp with time zone not null default clock_timestamp()
  constraint consumers_check CHECK (((("position" IS NULL) = (event_id IS NULL)) AND (("position" IS NULL) = (ordinal IS NULL))))
  constraint consumers_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX consumers_pkey ON read_v1.consumers USING btree (name)

table read_v1.earnings
  column stream text collate "C" not null
  column ordinal bigint not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column user_id text not null
  column currency_id integer not null
  column accrued numeric not null
  column withdrawn numeric not null
  constraint earnings_check CHECK (((withdrawn >= (0)::numeric) AND (withdrawn <= accrued)))
  constraint earnings_ordinal_key UNIQUE (ordinal)
  constraint earnings_pkey PRIMARY KEY (stream)
  CREATE INDEX earnings_of_user ON read_v1.earnings USING btree (app_id, environment, user_id)
  CREATE UNIQUE INDEX earnings_ordinal_key ON read_v1.earnings USING btree (ordinal)
  CREATE UNIQUE INDEX earnings_pkey ON read_v1.earnings USING btree (stream)

table read_v1.earnings_entries
  column entry text collate "C" not null
  column ordinal bigint not null
  column stream text collate "C" not null
  column app_id text not null
  column environment text not null
  column user_id text not null
  column currency_id integer not null
  column kind text not null
  column idem_key text collate "C" not null
  column amount numeric not null
  column level integer
  column source_user_id text
  column memo text
  column status text not null
  column occurred_at timestamp with time zone not null
  constraint earnings_entries_kind_check CHECK ((kind = ANY (ARRAY['payout'::text, 'distribution'::text, 'withdrawal'::text])))
  constraint earnings_entries_ordinal_key UNIQUE (ordinal)
  constraint earnings_entries_pkey PRIMARY KEY (entry)
  constraint earnings_entries_status_check CHECK ((status = ANY (ARRAY['booked'::text, 'returned'::text])))
  CREATE INDEX earnings_entries_of_user ON read_v1.earnings_entries USING btree (app_id, environment, user_id, ordinal)
  CREATE UNIQUE INDEX earnings_entries_ordinal_key ON read_v1.earnings_entries USING btree (ordinal)
  CREATE UNIQUE INDEX earnings_entries_pkey ON read_v1.earnings_entries USING btree (entry)

table read_v1.holds
  column stream text collate "C" not null
  column hold_id text collate "C" not null
  column app_id text not null
  column environment text not null
  column user_id text not null
  column currency_id integer not null
  column purpose text not null
  column amount numeric not null
  column payout numeric
  column held_at_revision integer not null
  column closed_at_revision integer
  constraint holds_check CHECK (((payout IS NULL) = (closed_at_revision IS NULL)))
  constraint holds_pkey PRIMARY KEY (stream, hold_id)
  CREATE INDEX holds_of_app ON read_v1.holds USING btree (app_id, environment, purpose)
  CREATE INDEX holds_open ON read_v1.holds USING btree (app_id, environment, purpose) WHERE (payout IS NULL)
  CREATE UNIQUE INDEX holds_pkey ON read_v1.holds USING btree (stream, hold_id)

table read_v1.moves
  column move_id text collate "C" not null
  column ordinal bigint not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column owner_id text not null
  column operation text not null
  column key text collate "C" not null
  column user_id text not null
  column currency_id integer
  column mint text not null
  column amount numeric not null
  column wallet_id text not null
  column from_address text not null
  column to_address text not null
  column status text not null
  column attempts integer not null
  column signature text
  column slot numeric
  column error_code text
  column requested_at timestamp with time zone not null
  column updated_at timestamp with time zone not null
  constraint moves_operation_check CHECK ((operation = ANY (ARRAY['deposit'::text, 'cashOut'::text, 'withdraw'::text, 'sweep'::text])))
  constraint moves_ordinal_key UNIQUE (ordinal)
  constraint moves_pkey PRIMARY KEY (move_id)
  constraint moves_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'submitted'::text, 'confirmed'::text, 'failed'::text])))
  CREATE INDEX moves_ended ON read_v1.moves USING btree (updated_at) WHERE (status = ANY (ARRAY['confirmed'::text, 'failed'::text]))
  CREATE INDEX moves_of_key ON read_v1.moves USING btree (app_id, environment, key)
  CREATE INDEX moves_under_way ON read_v1.moves USING btree (app_id, environment, currency_id, ordinal) WHERE (status = ANY (ARRAY['pending'::text, 'submitted'::text]))
  CREATE INDEX moves_under_way_of_wallet ON read_v1.moves USING btree (wallet_id, ordinal) WHERE (status = ANY (ARRAY['pending'::text, 'submitted'::text]))
  CREATE UNIQUE INDEX moves_ordinal_key ON read_v1.moves USING btree (ordinal)
  CREATE UNIQUE INDEX moves_pkey ON read_v1.moves USING btree (move_id)

table read_v1.play_sessions
  column session_id text collate "C" not null
  column ordinal bigint not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column user_id text not null
  column game_code text not null
  column currency text not null
  column currency_id integer not null
  column lock_amount numeric not null
  column balance numeric not null
  column total_bet numeric not null
  column total_win numeric not null
  column payout numeric
  column net numeric
  column late_rolled_back numeric not null
  column status text not null
  column opened_at timestamp with time zone not null
  column settled_at timestamp with time zone
  constraint play_sessions_ordinal_key UNIQUE (ordinal)
  constraint play_sessions_pkey PRIMARY KEY (session_id)
  constraint play_sessions_status_check CHECK ((status = ANY (ARRAY['open'::text, 'settled'::text])))
  CREATE INDEX play_sessions_of_app ON read_v1.play_sessions USING btree (app_id, environment, ordinal)
  CREATE INDEX play_sessions_of_user ON read_v1.play_sessions USING btree (app_id, environment, user_id, ordinal)
  CREATE INDEX play_sessions_open ON read_v1.play_sessions USING btree (app_id, environment, ordinal) WHERE (status = 'open'::text)
  CREATE UNIQUE INDEX play_sessions_ordinal_key ON read_v1.play_sessions USING btree (ordinal)
  CREATE UNIQUE INDEX play_sessions_pkey ON read_v1.play_sessions USING btree (session_id)

table read_v1.pool_stakes
  column stream text collate "C" not null
  column number integer not null
  column app_id text not null
  column environment text not null
  column bet_id text collate "C" not null
  column user_id text not null
  column currency_id integer not null
  column account text collate "C" not null
  column hold_id text collate "C" not null
  column amount numeric not null
  column status text not null
  column payout numeric
  column credit_due boolean not null
  column confirm_by timestamp with time zone not null
  constraint pool_stakes_pkey PRIMARY KEY (stream, number)
  constraint pool_stakes_status_check CHECK ((status = ANY (ARRAY['locked'::text, 'confirmed'::text, 'released'::text, 'settled'::text, 'refunded'::text])))
  CREATE INDEX pool_stakes_locked ON read_v1.pool_stakes USING btree (confirm_by) WHERE (status = 'locked'::text)
  CREATE INDEX pool_stakes_of_app ON read_v1.pool_stakes USING btree (app_id, environment)
  CREATE UNIQUE INDEX pool_stakes_pkey ON read_v1.pool_stakes USING btree (stream, number)

table read_v1.pools
  column stream text collate "C" not null
  column ordinal bigint not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column pool_id text collate "C" not null
  column currency_id integer not null
  column status text not null
  column locked numeric not null
  column confirmed numeric not null
  column rake numeric
  column credits integer not null
  column last_credit text collate "C"
  column credits_done integer not null
  column credits_done_at bigint not null
  column ended_by text collate "C"
  column opened_at timestamp with time zone not null
  column closed_at timestamp with time zone
  constraint pools_ordinal_key UNIQUE (ordinal)
  constraint pools_pkey PRIMARY KEY (stream)
  constraint pools_status_check CHECK ((status = ANY (ARRAY['open'::text, 'settled'::text, 'refunded'::text])))
  CREATE INDEX pools_of_app ON read_v1.pools USING btree (app_id, environment, ordinal)
  CREATE INDEX pools_open ON read_v1.pools USING btree (app_id, environment, ordinal) WHERE (status = 'open'::text)
  CREATE UNIQUE INDEX pools_ordinal_key ON read_v1.pools USING btree (ordinal)
  CREATE UNIQUE INDEX pools_pkey ON read_v1.pools USING btree (stream)

table read_v1.postings
  column log_ordinal bigint not null
  column number smallint not null
  column stream text collate "C" not null
  column revision integer not null
  column app_id text not null
  column environment text not null
  column user_id text
  column currency_id integer not null
  column account text not null
  column subject text not null
  column amount numeric not null
  column previous_balance numeric not null
  column current_balance numeric not null
  column occurred_at timestamp with time zone not null
  constraint postings_check CHECK (((previous_balance + amount) = current_balance))
  constraint postings_pkey PRIMARY KEY (log_ordinal, number)
  CREATE INDEX postings_of_app ON read_v1.postings USING btree (app_id, environment, log_ordinal)
  CREATE UNIQUE INDEX postings_pkey ON read_v1.postings USING btree (log_ordinal, number)

table read_v1.referees
  column stream text collate "C" not null
  column ordinal bigint not null
  column app_id text not null
  column environment text not null
  column user_id text not null
  column referrer_user_id text not null
  column attributed_at timestamp with time zone not null
  constraint referees_ordinal_key UNIQUE (ordinal)
  constraint referees_pkey PRIMARY KEY (stream)
  CREATE INDEX referees_of_referrer ON read_v1.referees USING btree (app_id, environment, referrer_user_id, ordinal)
  CREATE UNIQUE INDEX referees_ordinal_key ON read_v1.referees USING btree (ordinal)
  CREATE UNIQUE INDEX referees_pkey ON read_v1.referees USING btree (stream)

table read_v1.trial_balances
  column book text collate "C" not null
  column ordinal bigint not null
  column app_id text not null
  column environment text not null
  column currency_id integer not null
  column account text not null
  column balance numeric not null
  constraint trial_balances_ordinal_key UNIQUE (ordinal)
  constraint trial_balances_pkey PRIMARY KEY (book)
  CREATE UNIQUE INDEX trial_balances_ordinal_key ON read_v1.trial_balances USING btree (ordinal)
  CREATE UNIQUE INDEX trial_balances_pkey ON read_v1.trial_balances USING btree (book)

table records.admin_actions
  column action_id bigint not null generated always as identity
  column at timestamp with time zone not null
  column actor text not null
  column request_id text not null
  column action text not null
  column app_id text
  column details jsonb not null
  constraint admin_actions_pkey PRIMARY KEY (action_id)
  CREATE UNIQUE INDEX admin_actions_pkey ON records.admin_actions USING btree (action_id)

table records.api_keys
  column key_id text collate "C" not null
  column app_id text collate "C" not null
  column environment text not null
  column kind text not null
  column token_sha256 text collate "C" not null
  column hint text not null
  column publishable_token text
  column created_at timestamp with time zone not null
  column expires_at timestamp with time zone
  column revoked_at timestamp with time zone
  column last_used_at timestamp with time zone
  constraint api_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES records.apps(app_id)
  constraint api_keys_check CHECK (((kind = 'publishable'::text) = (publishable_token IS NOT NULL)))
  constraint api_keys_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint api_keys_kind_check CHECK ((kind = ANY (ARRAY['secret'::text, 'publishable'::text])))
  constraint api_keys_pkey PRIMARY KEY (key_id)
  constraint api_keys_token_sha256_check CHECK ((token_sha256 ~ '^[0-9a-f]{64}$'::text))
  constraint api_keys_token_sha256_key UNIQUE (token_sha256)
  CREATE INDEX api_keys_by_app ON records.api_keys USING btree (app_id, environment, kind)
  CREATE UNIQUE INDEX api_keys_pkey ON records.api_keys USING btree (key_id)
  CREATE UNIQUE INDEX api_keys_token_sha256_key ON records.api_keys USING btree (token_sha256)

table records.apps
  column app_id text collate "C" not null
  column name text not null
  column scope_id text collate "C" not null
  column created_at timestamp with time zone not null
  column joined_position text
  column joined_event_id text
  constraint apps_check CHECK (((joined_position IS NULL) = (joined_event_id IS NULL)))
  constraint apps_pkey PRIMARY KEY (app_id)
  CREATE INDEX apps_by_scope ON records.apps USING btree (scope_id)
  CREATE UNIQUE INDEX apps_pkey ON records.apps USING btree (app_id)

table records.auth_data_keys
  column environment text not null
  column scope_id text collate "C" not null
  column user_id text collate "C" not null
  column sealed_key jsonb
  column created_at timestamp with time zone not null
  column destroyed_at timestamp with time zone
  constraint auth_data_keys_check CHECK (((sealed_key IS NULL) = (destroyed_at IS NOT NULL)))
  constraint auth_data_keys_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint auth_data_keys_pkey PRIMARY KEY (environment, scope_id, user_id)
  CREATE UNIQUE INDEX auth_data_keys_pkey ON records.auth_data_keys USING btree (environment, scope_id, user_id)

table records.auth_email_codes
  column app_id text collate "C" not null
  column environment text not null
  column address_hash text collate "C" not null
  column code_id uuid not null
  column code_hmac text collate "C"
  column attempts_left smallint not null
  column expires_at timestamp with time zone not null
  column sent_at timestamp with time zone[] not null
  constraint auth_email_codes_address_hash_check CHECK ((address_hash ~ '^[0-9a-f]{64}$'::text))
  constraint auth_email_codes_attempts_left_check CHECK ((attempts_left >= 0))
  constraint auth_email_codes_code_hmac_check CHECK ((code_hmac ~ '^[0-9a-f]{64}$'::text))
  constraint auth_email_codes_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint auth_email_codes_pkey PRIMARY KEY (app_id, environment, address_hash)
  CREATE INDEX auth_email_codes_by_expiry ON records.auth_email_codes USING btree (expires_at)
  CREATE UNIQUE INDEX auth_email_codes_pkey ON records.auth_email_codes USING btree (app_id, environment, address_hash)

table records.auth_identities
  column identity_id text collate "C" not null
  column environment text not null
  column scope_id text collate "C" not null
  column user_id text collate "C" not null
  column sealed jsonb not null
  column updated_at timestamp with time zone not null
  constraint auth_identities_environment_scope_id_user_id_fkey FOREIGN KEY (environment, scope_id, user_id) REFERENCES records.auth_data_keys(environment, scope_id, user_id)
  constraint auth_identities_pkey PRIMARY KEY (identity_id)
  CREATE INDEX auth_identities_by_user ON records.auth_identities USING btree (environment, scope_id, user_id)
  CREATE UNIQUE INDEX auth_identities_pkey ON records.auth_identities USING btree (identity_id)

table records.auth_identity_key
  column is_only boolean not null default true
  column fingerprint text collate "C" not null
  constraint auth_identity_key_is_only_check CHECK (is_only)
  constraint auth_identity_key_pkey PRIMARY KEY (is_only)
  CREATE UNIQUE INDEX auth_identity_key_pkey ON records.auth_identity_key USING btree (is_only)

table records.auth_mail_outbox
  column mail_id uuid not null
  column app_id text collate "C" not null
  column environment text not null
  column address_hash text collate "C" not null
  column sealed jsonb not null
  column attempts integer not null
  column due_at timestamp with time zone not null
  column expires_at timestamp with time zone not null
  constraint auth_mail_outbox_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint auth_mail_outbox_pkey PRIMARY KEY (mail_id)
  CREATE INDEX auth_mail_outbox_by_address ON records.auth_mail_outbox USING btree (app_id, environment, address_hash)
  CREATE INDEX auth_mail_outbox_by_due ON records.auth_mail_outbox USING btree (due_at)
  CREATE UNIQUE INDEX auth_mail_outbox_pkey ON records.auth_mail_outbox USING btree (mail_id)

table records.auth_sessions
  column session_id text collate "C" not null
  column app_id text collate "C" not null
  column scope_id text collate "C" not null
  column environment text not null
  column user_id text collate "C" not null
  column auth_method text not null
  column signed_in_at timestamp with time zone not null
  column generation integer not null default 0
  column first_used_at timestamp with time zone[] not null default '{}'::timestamp with time zone[]
  column ended_at timestamp with time zone
  column ended_because text
  column first_uses integer[] not null default '{}'::integer[]
  constraint auth_sessions_auth_method_check CHECK ((auth_method = ANY (ARRAY['siws'::text, 'messenger'::text, 'email'::text])))
  constraint auth_sessions_check CHECK ((cardinality(first_used_at) <= generation))
  constraint auth_sessions_check1 CHECK (((ended_at IS NULL) = (ended_because IS NULL)))
  constraint auth_sessions_ended_because_check CHECK ((ended_because = ANY (ARRAY['logout'::text, 'reuse'::text, 'user'::text])))
  constraint auth_sessions_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint auth_sessions_generation_check CHECK ((generation >= 0))
  constraint auth_sessions_pkey PRIMARY KEY (session_id)
  CREATE INDEX auth_sessions_by_age ON records.auth_sessions USING btree (signed_in_at)
  CREATE INDEX auth_sessions_of_user ON records.auth_sessions USING btree (scope_id, environment, user_id) WHERE (ended_at IS NULL)
  CREATE UNIQUE INDEX auth_sessions_pkey ON records.auth_sessions USING btree (session_id)

table records.auth_signing_keys
  column kid text collate "C" not null
  column environment text not null
  column state text not null
  column public_jwk jsonb not null
  column sealed_private_key jsonb
  column created_at timestamp with time zone not null
  column verify_until timestamp with time zone
  constraint auth_signing_keys_check CHECK (((sealed_private_key IS NOT NULL) = (state = ANY (ARRAY['standby'::text, 'signing'::text]))))
  constraint auth_signing_keys_check1 CHECK (((verify_until IS NOT NULL) = (state = 'verify-only'::text)))
  constraint auth_signing_keys_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint auth_signing_keys_pkey PRIMARY KEY (kid)
  constraint auth_signing_keys_state_check CHECK ((state = ANY (ARRAY['standby'::text, 'signing'::text, 'verify-only'::text, 'retired'::text])))
  CREATE UNIQUE INDEX auth_signing_keys_one_of_a_kind ON records.auth_signing_keys USING btree (environment, state) WHERE (state = ANY (ARRAY['standby'::text, 'signing'::text]))
  CREATE UNIQUE INDEX auth_signing_keys_pkey ON records.auth_signing_keys USING btree (kid)

table records.auth_siws_challenges
  column nonce text collate "C" not null
  column app_id text collate "C" not null
  column environment text not null
  column public_key text collate "C" not null
  column domain text not null
  column statement text not null
  column uri text not null
  column issued_at timestamp with time zone not null
  column expires_at timestamp with time zone not null
  constraint auth_siws_challenges_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint auth_siws_challenges_pkey PRIMARY KEY (nonce)
  CREATE INDEX auth_siws_challenges_by_expiry ON records.auth_siws_challenges USING btree (expires_at)
  CREATE UNIQUE INDEX auth_siws_challenges_pkey ON records.auth_siws_challenges USING btree (nonce)

table records.chain_blocks
  column last_ordinal bigint not null
  column first_ordinal bigint not null
  column hash_before bytea not null
  column hash_after bytea not null
  column last_position text not null
  column recorded_until_ms bigint not null
  column event_ids bytea not null
  column hashes bytea not null
  column streams text[] collate "C" not null
  column revisions bigint[] not null
  column recorded_ms bigint[] not null
  constraint chain_blocks_check CHECK (((first_ordinal >= 1) AND (first_ordinal <= last_ordinal)))
  constraint chain_blocks_hash_after_check CHECK ((length(hash_after) = 32))
  constraint chain_blocks_hash_before_check CHECK ((length(hash_before) = 32))
  constraint chain_blocks_pkey PRIMARY KEY (last_ordinal)
  CREATE INDEX chain_blocks_by_time ON records.chain_blocks USING btree (recorded_until_ms, last_ordinal)
  CREATE UNIQUE INDEX chain_blocks_pkey ON records.chain_blocks USING btree (last_ordinal)
  CREATE TRIGGER chain_blocks_are_immutable BEFORE DELETE OR UPDATE ON records.chain_blocks FOR EACH ROW EXECUTE FUNCTION records.refuse_change_of_chain()

table records.chain_blocks_set_aside
  column last_ordinal bigint not null
  column first_ordinal bigint not null
  column hash_before bytea not null
  column hash_after bytea not null
  column last_position text not null
  column recorded_until_ms bigint not null
  column event_ids bytea not null
  column hashes bytea not null
  column streams text[] collate "C" not null
  column revisions bigint[] not null
  column recorded_ms bigint[] not null
  column set_aside_at timestamp with time zone not null

table records.chain_carried
  column until_ordinal bigint not null
  constraint chain_carried_until_ordinal_check CHECK ((until_ordinal >= 1))
  CREATE UNIQUE INDEX chain_carried_once ON records.chain_carried USING btree ((true))

table records.consumer_stops
  column schema text not null
  column name text not null
  column epoch bigint not null
  column code text not null
  column reason text not null
  column event jsonb
  column stopped_at timestamp with time zone not null default clock_timestamp()
  constraint consumer_stops_pkey PRIMARY KEY (schema, name)
  CREATE UNIQUE INDEX consumer_stops_pkey ON records.consumer_stops USING btree (schema, name)

table records.consumers
  column name text not null
  column "position" text
  column event_id text
  column ordinal bigint
  column epoch bigint not null default 0
  column owner text
  column leased_until timestamp with time zone
  column updated_at timestamp with time zone not null default clock_timestamp()
  constraint consumers_check CHECK (((("position" IS NULL) = (event_id IS NULL)) AND (("position" IS NULL) = (ordinal IS NULL))))
  constraint consumers_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX consumers_pkey ON records.consumers USING btree (name)

table records.currencies
  column app_id text collate "C" not null
  column currency_id integer not null
  column code text collate "C" not null
  column decimals smallint not null
  column test_mint text
  column live_mint text
  column created_at timestamp with time zone not null
  constraint currencies_app_id_code_key UNIQUE (app_id, code)
  constraint currencies_app_id_fkey FOREIGN KEY (app_id) REFERENCES records.apps(app_id)
  constraint currencies_currency_id_check CHECK ((currency_id > 0))
  constraint currencies_pkey PRIMARY KEY (app_id, currency_id)
  CREATE UNIQUE INDEX currencies_app_id_code_key ON records.currencies USING btree (app_id, code)
  CREATE UNIQUE INDEX currencies_pkey ON records.currencies USING btree (app_id, currency_id)
  CREATE TRIGGER currencies_are_immutable BEFORE DELETE OR UPDATE ON records.currencies FOR EACH ROW EXECUTE FUNCTION records.refuse_change_of_currency()

table records.knex_migrations
  column id integer not null default nextval('records.knex_migrations_id_seq'::regclass)
  column name character varying(255)
  column batch integer
  column migration_time timestamp with time zone
  constraint knex_migrations_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX knex_migrations_pkey ON records.knex_migrations USING btree (id)

table records.knex_migrations_lock
  column index integer not null default nextval('records.knex_migrations_lock_index_seq'::regclass)
  column is_locked integer
  constraint knex_migrations_lock_pkey PRIMARY KEY (index)
  CREATE UNIQUE INDEX knex_migrations_lock_pkey ON records.knex_migrations_lock USING btree (index)

table records.read_pointer
  column shape integer not null
  column version integer not null
  column moved_at timestamp with time zone not null default clock_timestamp()
  constraint read_pointer_pkey PRIMARY KEY (shape)
  constraint read_pointer_version_key UNIQUE (version)
  CREATE UNIQUE INDEX read_pointer_pkey ON records.read_pointer USING btree (shape)
  CREATE UNIQUE INDEX read_pointer_version_key ON records.read_pointer USING btree (version)

table records.reconcile_chain_histories
  column app_id text collate "C" not null
  column environment text collate "C" not null
  column address text collate "C" not null
  column signature text collate "C" not null
  column covered_to numeric
  constraint reconcile_chain_histories_pkey PRIMARY KEY (app_id, environment, address)
  CREATE UNIQUE INDEX reconcile_chain_histories_pkey ON records.reconcile_chain_histories USING btree (app_id, environment, address)

table records.reconcile_chain_moves
  column move_id text collate "C" not null
  column app_id text collate "C" not null
  column environment text collate "C" not null
  column facts text not null
  constraint reconcile_chain_moves_pkey PRIMARY KEY (move_id)
  CREATE INDEX reconcile_chain_moves_of_app ON records.reconcile_chain_moves USING btree (app_id, environment)
  CREATE UNIQUE INDEX reconcile_chain_moves_pkey ON records.reconcile_chain_moves USING btree (move_id)

table records.reconcile_chain_transfers
  column app_id text collate "C" not null
  column environment text collate "C" not null
  column signature text collate "C" not null
  column mint text collate "C" not null
  column change numeric
  constraint reconcile_chain_transfers_change_check CHECK ((change <> (0)::numeric))
  constraint reconcile_chain_transfers_pkey PRIMARY KEY (app_id, environment, signature, mint)
  CREATE UNIQUE INDEX reconcile_chain_transfers_pkey ON records.reconcile_chain_transfers USING btree (app_id, environment, signature, mint)

CREATE OR REPLACE FUNCTION records.refuse_change_of_chain()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'The chain is evidence: its blocks are never changed or removed.';
end
$function$


CREATE OR REPLACE FUNCTION records.refuse_change_of_currency()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'A currency is never changed or removed. Add another one.';
end
$function$


table records.scrub
  column one boolean not null default true
  column state text
  column format integer not null default 0
  column due_at timestamp with time zone
  column owner text
  column leased_until timestamp with time zone
  column turn bigint not null default 0
  constraint scrub_one_check CHECK (one)
  constraint scrub_pkey PRIMARY KEY (one)
  CREATE UNIQUE INDEX scrub_pkey ON records.scrub USING btree (one)

table records.settings
  column app_id text collate "C" not null
  column environment text not null
  column key text collate "C" not null
  column value jsonb not null
  column updated_at timestamp with time zone not null
  constraint settings_app_id_fkey FOREIGN KEY (app_id) REFERENCES records.apps(app_id)
  constraint settings_environment_check CHECK ((environment = ANY (ARRAY['both'::text, 'test'::text, 'live'::text])))
  constraint settings_pkey PRIMARY KEY (app_id, environment, key)
  CREATE UNIQUE INDEX settings_pkey ON records.settings USING btree (app_id, environment, key)

table records.wallets_current_master_key
  column environment text collate "C" not null
  column version integer not null
  constraint wallets_current_master_key_environment_version_fkey FOREIGN KEY (environment, version) REFERENCES records.wallets_master_keys(environment, version)
  constraint wallets_current_master_key_pkey PRIMARY KEY (environment)
  CREATE UNIQUE INDEX wallets_current_master_key_pkey ON records.wallets_current_master_key USING btree (environment)

CREATE OR REPLACE FUNCTION records.wallets_keep_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' and old.retired_at is not null then
    return old;
  end if;
  if tg_op = 'UPDATE'
     and new.wallet_id = old.wallet_id and new.environment = old.environment and new.owner_id = old.owner_id
     and new.public_key = old.public_key and new.format = old.format and new.sealed_seed = old.sealed_seed
     and new.created_at = old.created_at
     and (old.retired_at is null or new.retired_at is not distinct from old.retired_at) then
    return new;
  end if;
  raise exception 'The key of a wallet is never changed or removed: what it holds would be lost. Only its data key is wrapped anew, and it is retired when its user has taken it.';
end
$function$


CREATE OR REPLACE FUNCTION records.wallets_keep_opening()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'The openings of keys are a record: they are only added to.';
end
$function$


CREATE OR REPLACE FUNCTION records.wallets_keep_signing()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' and old.answer is null and new.answer is not null
     and new.wallet_id = old.wallet_id and new.operation = old.operation and new.asked_by = old.asked_by
     and new.idempotency_key = old.idempotency_key and new.transaction_hash = old.transaction_hash
     and new.claimed_at = old.claimed_at then
    return new;
  end if;
  raise exception 'What was signed under a key is a record: it is only completed.';
end
$function$


table records.wallets_key_openings
  column opening_id bigint not null generated always as identity
  column at timestamp with time zone not null default clock_timestamp()
  column wallet_id text collate "C" not null
  column environment text collate "C" not null
  column actor text not null
  column purpose text not null
  column request_id text not null
  constraint wallets_key_openings_pkey PRIMARY KEY (opening_id)
  CREATE INDEX wallets_key_openings_by_wallet ON records.wallets_key_openings USING btree (wallet_id, opening_id)
  CREATE UNIQUE INDEX wallets_key_openings_pkey ON records.wallets_key_openings USING btree (opening_id)
  CREATE TRIGGER wallets_key_openings_are_kept BEFORE DELETE OR UPDATE ON records.wallets_key_openings FOR EACH ROW EXECUTE FUNCTION records.wallets_keep_opening()
  CREATE TRIGGER wallets_key_openings_stay BEFORE TRUNCATE ON records.wallets_key_openings FOR EACH STATEMENT EXECUTE FUNCTION records.wallets_keep_opening()

table records.wallets_master_keys
  column environment text collate "C" not null
  column version integer not null
  column check_value bytea not null
  column activated_at timestamp with time zone not null
  column activated_by text not null
  column request_id text not null
  constraint wallets_master_keys_check_value_check CHECK ((octet_length(check_value) = 32))
  constraint wallets_master_keys_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint wallets_master_keys_pkey PRIMARY KEY (environment, version)
  constraint wallets_master_keys_version_check CHECK ((version > 0))
  CREATE UNIQUE INDEX wallets_master_keys_pkey ON records.wallets_master_keys USING btree (environment, version)

table records.wallets_sealed_exports
  column wallet_id text collate "C" not null
  column sealed_secret_key bytea not null
  constraint wallets_sealed_exports_pkey PRIMARY KEY (wallet_id)
  constraint wallets_sealed_exports_sealed_secret_key_check CHECK ((octet_length(sealed_secret_key) = 136))
  constraint wallets_sealed_exports_wallet_id_fkey FOREIGN KEY (wallet_id) REFERENCES records.wallets_sealed_keys(wallet_id) ON DELETE CASCADE
  CREATE UNIQUE INDEX wallets_sealed_exports_pkey ON records.wallets_sealed_exports USING btree (wallet_id)

table records.wallets_sealed_keys
  column wallet_id text collate "C" not null
  column environment text collate "C" not null
  column owner_id text collate "C" not null
  column public_key bytea not null
  column format smallint not null
  column master_key_version integer not null
  column wrapped_data_key bytea not null
  column sealed_seed bytea not null
  column created_at timestamp with time zone not null
  column retired_at timestamp with time zone
  constraint wallets_sealed_keys_environment_master_key_version_fkey FOREIGN KEY (environment, master_key_version) REFERENCES records.wallets_master_keys(environment, version)
  constraint wallets_sealed_keys_pkey PRIMARY KEY (wallet_id)
  constraint wallets_sealed_keys_public_key_check CHECK ((octet_length(public_key) = 32))
  constraint wallets_sealed_keys_public_key_key UNIQUE (public_key)
  constraint wallets_sealed_keys_sealed_seed_check CHECK ((octet_length(sealed_seed) = 60))
  constraint wallets_sealed_keys_wrapped_data_key_check CHECK ((octet_length(wrapped_data_key) = 60))
  CREATE INDEX wallets_sealed_keys_by_version ON records.wallets_sealed_keys USING btree (environment, master_key_version, wallet_id)
  CREATE INDEX wallets_sealed_keys_retired ON records.wallets_sealed_keys USING btree (retired_at) WHERE (retired_at IS NOT NULL)
  CREATE UNIQUE INDEX wallets_sealed_keys_pkey ON records.wallets_sealed_keys USING btree (wallet_id)
  CREATE UNIQUE INDEX wallets_sealed_keys_public_key_key ON records.wallets_sealed_keys USING btree (public_key)
  CREATE TRIGGER wallets_sealed_keys_are_kept BEFORE DELETE OR UPDATE ON records.wallets_sealed_keys FOR EACH ROW EXECUTE FUNCTION records.wallets_keep_key()
  CREATE TRIGGER wallets_sealed_keys_stay BEFORE TRUNCATE ON records.wallets_sealed_keys FOR EACH STATEMENT EXECUTE FUNCTION records.wallets_keep_key()

table records.wallets_signings
  column wallet_id text collate "C" not null
  column operation text collate "C" not null
  column asked_by text collate "C" not null
  column idempotency_key text collate "C" not null
  column transaction_hash bytea not null
  column answer text
  column claimed_at timestamp with time zone not null default clock_timestamp()
  constraint wallets_signings_operation_check CHECK ((operation = ANY (ARRAY['sign'::text, 'serverSign'::text])))
  constraint wallets_signings_pkey PRIMARY KEY (wallet_id, operation, asked_by, idempotency_key)
  constraint wallets_signings_transaction_hash_check CHECK ((octet_length(transaction_hash) = 32))
  CREATE UNIQUE INDEX wallets_signings_pkey ON records.wallets_signings USING btree (wallet_id, operation, asked_by, idempotency_key)
  CREATE TRIGGER wallets_signings_are_kept BEFORE DELETE OR UPDATE ON records.wallets_signings FOR EACH ROW EXECUTE FUNCTION records.wallets_keep_signing()
  CREATE TRIGGER wallets_signings_stay BEFORE TRUNCATE ON records.wallets_signings FOR EACH STATEMENT EXECUTE FUNCTION records.wallets_keep_signing()

table records.webhook_attempts
  column subscription_id text collate "C" not null
  column sequence bigint not null
  column number integer not null
  column started_at timestamp with time zone not null
  column duration_ms integer
  column status smallint
  column error text collate "C"
  column answer_head text
  constraint webhook_attempts_pkey PRIMARY KEY (subscription_id, sequence, number)
  CREATE INDEX webhook_attempts_by_time ON records.webhook_attempts USING btree (subscription_id, started_at)
  CREATE UNIQUE INDEX webhook_attempts_pkey ON records.webhook_attempts USING btree (subscription_id, sequence, number)

table records.webhook_deliveries
  column subscription_id text collate "C" not null
  column sequence bigint not null
  column app_id text collate "C" not null
  column previous_sequence bigint
  column state text collate "C" not null default 'pending'::text
  column attempts integer not null default 0
  column failures integer not null default 0
  column first_attempt_at timestamp with time zone
  column next_attempt_at timestamp with time zone not null
  column first_started_at timestamp with time zone
  column first_duration_ms integer
  column first_status smallint
  column first_answer_head text
  constraint webhook_deliveries_check CHECK ((failures <= attempts))
  constraint webhook_deliveries_pkey PRIMARY KEY (subscription_id, sequence)
  constraint webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
  CREATE INDEX webhook_deliveries_by_first ON records.webhook_deliveries USING brin (first_started_at) WITH (pages_per_range='32', autosummarize='on')
  CREATE INDEX webhook_deliveries_due ON records.webhook_deliveries USING btree (subscription_id, LEAST(attempts, 1), next_attempt_at) WHERE (state = 'pending'::text)
  CREATE INDEX webhook_deliveries_failed ON records.webhook_deliveries USING btree (subscription_id, sequence) WHERE (state = 'failed'::text)
  CREATE UNIQUE INDEX webhook_deliveries_pkey ON records.webhook_deliveries USING btree (subscription_id, sequence)

table records.webhook_events
  column app_id text collate "C" not null
  column sequence bigint not null
  column event_id text collate "C" not null
  column type text collate "C" not null
  column environment text collate "C" not null
  column object_id text collate "C" not null
  column user_id text collate "C"
  column stream text collate "C" not null
  column revision bigint not null
  column created_at timestamp with time zone not null
  column body text not null
  column ordinal bigint
  constraint webhook_events_app_id_fkey FOREIGN KEY (app_id) REFERENCES records.apps(app_id)
  constraint webhook_events_app_id_stream_revision_type_key UNIQUE (app_id, stream, revision, type)
  constraint webhook_events_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint webhook_events_event_id_key UNIQUE (event_id)
  constraint webhook_events_pkey PRIMARY KEY (app_id, sequence)
  constraint webhook_events_sequence_check CHECK ((sequence > 0))
  CREATE INDEX webhook_events_by_object ON records.webhook_events USING btree (app_id, object_id, sequence)
  CREATE INDEX webhook_events_by_type ON records.webhook_events USING btree (app_id, environment, type, sequence)
  CREATE UNIQUE INDEX webhook_events_app_id_stream_revision_type_key ON records.webhook_events USING btree (app_id, stream, revision, type)
  CREATE UNIQUE INDEX webhook_events_event_id_key ON records.webhook_events USING btree (event_id)
  CREATE UNIQUE INDEX webhook_events_pkey ON records.webhook_events USING btree (app_id, sequence)

table records.webhook_lanes
  column subscription_id text collate "C" not null
  column app_id text collate "C" not null
  column sender_id text collate "C"
  constraint webhook_lanes_pkey PRIMARY KEY (subscription_id)
  CREATE INDEX webhook_lanes_by_app ON records.webhook_lanes USING btree (app_id, subscription_id)
  CREATE UNIQUE INDEX webhook_lanes_pkey ON records.webhook_lanes USING btree (subscription_id)

table records.webhook_passed_on
  column app_id text collate "C" not null
  column sequence bigint not null
  constraint webhook_passed_on_pkey PRIMARY KEY (app_id)
  constraint webhook_passed_on_sequence_check CHECK ((sequence > 0))
  CREATE UNIQUE INDEX webhook_passed_on_pkey ON records.webhook_passed_on USING btree (app_id)

table records.webhook_rounds
  column round_id bigint not null generated always as identity
  column sender_id text collate "C" not null
  column started_at timestamp with time zone not null
  column subscription_ids text[] collate "C" not null
  column sequences bigint[] not null
  column numbers integer[] not null
  constraint webhook_rounds_pkey PRIMARY KEY (round_id)
  CREATE UNIQUE INDEX webhook_rounds_pkey ON records.webhook_rounds USING btree (round_id)

table records.webhook_senders
  column sender_id text collate "C" not null
  column alive_until timestamp with time zone not null
  constraint webhook_senders_pkey PRIMARY KEY (sender_id)
  CREATE UNIQUE INDEX webhook_senders_pkey ON records.webhook_senders USING btree (sender_id)

table records.webhook_sequences
  column app_id text collate "C" not null
  column last bigint not null default 0
  column since_ordinal bigint not null
  column pruned_sequence bigint not null default 0
  column pruned_ordinal bigint not null default 0
  constraint webhook_sequences_app_id_fkey FOREIGN KEY (app_id) REFERENCES records.apps(app_id)
  constraint webhook_sequences_last_check CHECK ((last >= 0))
  constraint webhook_sequences_pkey PRIMARY KEY (app_id)
  CREATE UNIQUE INDEX webhook_sequences_pkey ON records.webhook_sequences USING btree (app_id)

table records.webhook_subscriptions
  column subscription_id text collate "C" not null
  column app_id text collate "C" not null
  column url text not null
  column events text[]
  column environment text collate "C"
  column state text collate "C" not null
  column disabled_reason text collate "C"
  column secret jsonb not null
  column previous_secret jsonb
  column previous_secret_until timestamp with time zone
  column created_at timestamp with time zone not null
  column updated_at timestamp with time zone not null
  column last_matched bigint
  column failing_since timestamp with time zone
  column epoch bigint not null default 1
  column since_sequence bigint not null default 0
  column rotation_key text collate "C"
  constraint webhook_subscriptions_app_id_fkey FOREIGN KEY (app_id) REFERENCES records.apps(app_id)
  constraint webhook_subscriptions_check CHECK (((state = 'disabled'::text) = (disabled_reason IS NOT NULL)))
  constraint webhook_subscriptions_check1 CHECK (((previous_secret IS NULL) = (previous_secret_until IS NULL)))
  constraint webhook_subscriptions_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])))
  constraint webhook_subscriptions_pkey PRIMARY KEY (subscription_id)
  constraint webhook_subscriptions_state_check CHECK ((state = ANY (ARRAY['enabled'::text, 'disabled'::text, 'deleted'::text])))
  CREATE INDEX webhook_subscriptions_by_app ON records.webhook_subscriptions USING btree (app_id, created_at, subscription_id)
  CREATE UNIQUE INDEX webhook_subscriptions_pkey ON records.webhook_subscriptions USING btree (subscription_id)
