-- Apps have wallets of their own beside those of their scope's users: the owner is a scope or an app.
alter table records.wallets_sealed_keys rename column scope_id to owner_id;

create or replace function records.wallets_keep_key() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and new.wallet_id = old.wallet_id and new.environment = old.environment and new.owner_id = old.owner_id
     and new.public_key = old.public_key and new.format = old.format and new.sealed_seed = old.sealed_seed
     and new.created_at = old.created_at then
    return new;
  end if;
  raise exception 'The key of a wallet is never changed or removed: what it holds would be lost. Only its data key is wrapped anew.';
end
$$;
