-- The caller's key of the last rotation: while both secrets sign, a repeat of it gets the same secret.
alter table records.webhook_subscriptions add column rotation_key text collate "C";
