/**
 * Runs on EventStoreDB what has to run on it: the adapter's own specs, and every spec of the service with its log behind
 * the protocol. By default a store gateway serves it. EVENTSTORE_TEST_SERVER is a command that serves on a port and in a
 * folder which it is called with, without TLS and without a password, until SIGTERM: each database of a spec gets a
 * server of its own, and what edits the log by SQL says that it is left out. With EVENTSTORE_TEST_URL (`esdb://…`) the
 * contract is held against that server as well.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SPECS = ['packages/event-store/src/eventstoredb/*.spec.ts', 'services/coffer/src/**/*.spec.ts'];
// The one moves a log between both stores, the other serves the log of the database: they bring what they need.
const ELSEWHERE = ['migration.e2e', 'storeGateway.int'].map((name) => `services/coffer/src/${name}.spec.ts`);

// Mocha would add the specs of its configuration file to these.
const config = ['--no-config', '--require', 'packages/testing/src/mochaSetup.ts', '--timeout', '60000'];
const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const asked = process.argv.slice(2);
const specs = asked.length > 0 ? asked : [...ELSEWHERE.flatMap((file) => ['--ignore', file]), ...SPECS];
const child = spawn(process.execPath, [mocha, ...config, ...specs], {
  stdio: 'inherit',
  env: { ...process.env, COFFER_SPEC_EVENT_STORE: 'eventstoredb' },
});
const [exitCode] = await once(child, 'exit');
process.exitCode = exitCode ?? 1;
