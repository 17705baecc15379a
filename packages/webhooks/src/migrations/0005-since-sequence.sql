-- The app's last number when the subscription was made: only what comes after it is for the subscription. 0, for those made
-- before this column was there: then an event that is sent again may be told a predecessor from before the subscription.
alter table records.webhook_subscriptions add column since_sequence bigint not null default 0;
