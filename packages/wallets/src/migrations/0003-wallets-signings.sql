-- What was signed under a caller's idempotency key: kept for ever, so that the key always answers the same.
create table records.wallets_signings (
  wallet_id text collate "C" not null,
  operation text collate "C" not null check (operation in ('sign', 'serverSign')),
  -- Who asked: `user:<id>` or `app:<id>`. Another never sees the answer.
  asked_by text collate "C" not null,
  idempotency_key text collate "C" not null,
  -- SHA-256 of the transaction as it was given.
  transaction_hash bytea not null check (octet_length(transaction_hash) = 32),
  -- The body as it was answered. Null until the key was opened for it.
  answer text,
  claimed_at timestamptz not null default clock_timestamp(),
  primary key (wallet_id, operation, asked_by, idempotency_key)
);

create function records.wallets_keep_signing() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.answer is null and new.answer is not null
     and new.wallet_id = old.wallet_id and new.operation = old.operation and new.asked_by = old.asked_by
     and new.idempotency_key = old.idempotency_key and new.transaction_hash = old.transaction_hash
     and new.claimed_at = old.claimed_at then
    return new;
  end if;
  raise exception 'What was signed under a key is a record: it is only completed.';
end
$$;
create trigger wallets_signings_are_kept before update or delete on records.wallets_signings
  for each row execute function records.wallets_keep_signing();
create trigger wallets_signings_stay before truncate on records.wallets_signings
  for each statement execute function records.wallets_keep_signing();
