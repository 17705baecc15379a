-- A key that its user has taken is retired: nothing is signed with it any more, it is handed out again for a while,
-- and then it is the only kind of key that may be removed.
alter table records.wallets_sealed_keys add column retired_at timestamptz;
create index wallets_sealed_keys_retired
  on records.wallets_sealed_keys (retired_at) where retired_at is not null;

create or replace function records.wallets_keep_key() returns trigger language plpgsql as $$
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
$$;

-- What an export with a recipient was answered with: sealing it again would make other bytes.
create table records.wallets_sealed_exports (
  wallet_id text collate "C" primary key references records.wallets_sealed_keys on delete cascade,
  -- Ephemeral public key, nonce and box: only the recipient opens it.
  sealed_secret_key bytea not null check (octet_length(sealed_secret_key) = 136)
);
