-- What reconciling has seen on the chain, so that it need not be asked for again. All of it may be deleted: the next
-- run then looks at everything.

-- How far the history of an address was read: every transaction up to this one is final and was looked at.
create table records.reconcile_chain_histories (
  app_id text collate "C" not null,
  environment text collate "C" not null,
  address text collate "C" not null,
  signature text collate "C" not null,
  primary key (app_id, environment, address)
);

-- What final transactions took from a treasury or brought to it, whoever signed them.
create table records.reconcile_chain_transfers (
  app_id text collate "C" not null,
  environment text collate "C" not null,
  signature text collate "C" not null,
  -- `native` or a mint address; empty where the transaction could not be read.
  mint text collate "C" not null,
  -- Null where the transaction could not be read.
  change numeric check (change <> 0),
  primary key (app_id, environment, signature, mint)
);

-- Moves whose end the chain bears out, and as what they ended: a row that says something else is looked at again.
create table records.reconcile_chain_moves (
  move_id text collate "C" primary key,
  app_id text collate "C" not null,
  environment text collate "C" not null,
  facts text not null
);
create index reconcile_chain_moves_of_app on records.reconcile_chain_moves (app_id, environment);
