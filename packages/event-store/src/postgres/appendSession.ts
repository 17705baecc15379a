/** The settings that the append connection makes on its server, once. */

/** The server ends longer transactions, so that a frozen client cannot keep the lock. */
const TRANSACTION_TIMEOUT_MS = 10_000;

/**
 * An acknowledged append must survive a power cut, whatever the server's default. `transaction_timeout` exists from
 * PostgreSQL 17 on; an older server would refuse a connection that sets it.
 */
export const APPEND_SESSION = `
  select set_config(name, case name when 'synchronous_commit' then 'on' else '${TRANSACTION_TIMEOUT_MS}' end, false)
    from pg_settings
   where name = 'transaction_timeout' or (name = 'synchronous_commit' and setting = 'off')`;
