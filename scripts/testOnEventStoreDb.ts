/**
 * Runs what has to run on EventStoreDB: the adapter's own specs, and every spec of the service with its log
 * behind the protocol. By default a store gateway serves it. EVENTSTORE_TEST_SERVER is a command that serves
 * on the port and in the folder that it is called with, without TLS or password, until SIGTERM: then each
 * database of a spec gets its own server, and specs that edit the log by SQL report that they are left out.
 * With EVENTSTORE_TEST_URL (`esdb://…`) the contract runs against that server as well.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SPECS = [
  'packages/event-store/src/eventstoredb/*.spec.ts',
  'packages/{accounts,audit,auth,custody,host,ledger,portal,reconcile,referrals,treasury,users,wallets}/src/**/*.int.spec.ts',
  'services/coffer/src/**/*.spec.ts',
];
const LEFT_OUT = {
  'services/coffer/src/migration.e2e.spec.ts': 'it moves a log between both stores and brings what it needs',
  'services/coffer/src/storeGateway.int.spec.ts': 'it serves the log of the database',
};

const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const asked = process.argv.slice(2);
const ignored = Object.keys(LEFT_OUT).flatMap((file) => ['--ignore', file]);
const specs = asked.length > 0 ? asked : [...ignored, ...SPECS];
const child = spawn(process.execPath, [mocha, ...specs], {
  stdio: 'inherit',
  env: { ...process.env, COFFER_SPEC_EVENT_STORE: 'eventstoredb' },
});
const [exitCode] = await once(child, 'exit');
process.exitCode = exitCode ?? 1;
if (asked.length === 0) {
  for (const [file, why] of Object.entries(LEFT_OUT)) process.stdout.write(`left out: ${file}, as ${why}\n`);
}
