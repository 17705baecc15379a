-- Up to which number an app's events are in Kafka: those after it are kept for it. Apps without a row: all of them.
create table records.webhook_passed_on (
  app_id text collate "C" primary key,
  sequence bigint not null check (sequence > 0)
);
