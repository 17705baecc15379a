-- How many generations each time in first_used_at stands for: those that were first used in one second share the last
-- of their times, so that a row stays small however fast a client refreshes. What is missing here is 1.
alter table records.auth_sessions
  add column first_uses integer[] not null default '{}';
