/**
 * Runs on EventStoreDB what has to run on it: the adapter's own specs, and every spec of the service with its log behind
 * the protocol. By default a store gateway serves it. EVENTSTORE_TEST_SERVER is a command that serves on a port and in a
 * folder which it is called with, without TLS and without a password, until SIGTERM: each database of a spec gets a
 * server of its own, and what edits the log by SQL says that it is left out. With EVENTSTORE_TEST_URL (`esdb://…`) the
 * contract is held against that server as well.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SPECS = ['packages/event-store/src/eventstoredb/*.spec.ts', 'services/coffer/src/**/*.spec.ts'];
const LEFT_OUT = {
  'services/coffer/src/migration.e2e.spec.ts': 'it moves a log between both stores and brings what it needs',
  'services/coffer/src/storeGateway.int.spec.ts': 'it serves the log of the database',
};

const { require, timeout } = JSON.parse(readFileSync(new URL('../.mocharc.json', import.meta.url), 'utf8'));
// Mocha would add the specs of its configuration file to these.
const config = ['--no-config', '--require', ...require, '--timeout', `${timeout}`];
const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const asked = process.argv.slice(2);
const ignored = Object.keys(LEFT_OUT).flatMap((file) => ['--ignore', file]);
const specs = asked.length > 0 ? asked : [...ignored, ...SPECS];
const child = spawn(process.execPath, [mocha, ...config, ...specs], {
  stdio: 'inherit',
  env: { ...process.env, COFFER_SPEC_EVENT_STORE: 'eventstoredb' },
});
const [exitCode] = await once(child, 'exit');
process.exitCode = exitCode ?? 1;
if (asked.length === 0) {
  for (const [file, why] of Object.entries(LEFT_OUT)) process.stdout.write(`left out: ${file}, as ${why}\n`);
}
