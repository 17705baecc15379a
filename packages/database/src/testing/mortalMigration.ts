/** A service start as far as its migrations, in a process that kills itself before one of its statements. */
import { type Migrations, migrate } from '../migrate.ts';
import { createPool } from '../pool.ts';

export interface MortalMigration {
  readonly connectionString: string;
  readonly parts: readonly Migrations[];
  /** The index of the statement, counting only those that write. */
  readonly diesBefore: number;
}

const { connectionString, parts, diesBefore }: MortalMigration = JSON.parse(process.argv[2] ?? '');
let written = 0;
const pool = createPool({ connectionString, applicationName: 'mortal', onIdleError: () => undefined });
pool.on('connect', (client) => {
  const query = new Proxy(client.query, {
    apply(target, self, parameters) {
      const [statement] = parameters;
      if (!/^select /.test(statement.text ?? statement) && written++ === diesBefore) {
        process.kill(process.pid, 'SIGKILL');
      }
      return Reflect.apply(target, self, parameters);
    },
  });
  Object.assign(client, { query });
});
await migrate(pool, parts);
await pool.end();
