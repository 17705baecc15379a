/** For specs: a service in its own process, to be killed. Prints its server as one line of JSON, then waits. */
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../embeddedPostgres.ts';

const { values } = parseArgs({
  options: { folder: { type: 'string' }, fragile: { type: 'boolean', default: false } },
});
if (values.folder === undefined) throw new Error('Say --folder.');

const server = await startEmbeddedPostgres({
  folder: values.folder,
  databases: ['coffer'],
  durable: !values.fragile,
});
process.stdout.write(
  `${JSON.stringify({ connectionString: server.connectionString('coffer'), postmasterPid: server.postmasterPid })}\n`,
);
// Closing its input asks it to stop; killing it leaves the server running.
process.stdin.resume();
process.stdin.on('end', () => server.stop());
