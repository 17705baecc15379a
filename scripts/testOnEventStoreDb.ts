/**
 * Runs on EventStoreDB what has to run on it: the adapter's own specs, and the specs of the service with their log
 * behind the protocol. With EVENTSTORE_TEST_URL (`esdb://…`) the contract is held against that server as well.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SPECS = [
  'packages/event-store/src/eventstoredb/*.spec.ts',
  'services/coffer/src/ledger.*.int.spec.ts',
  'services/coffer/src/audit.int.spec.ts',
  'services/coffer/src/totals.int.spec.ts',
  'services/coffer/src/conformance.e2e.spec.ts',
  'services/coffer/src/crash.e2e.spec.ts',
  'services/coffer/src/killedUnderLoad.e2e.spec.ts',
  'services/coffer/src/projectorKilled.e2e.spec.ts',
  'services/coffer/src/catalogue.int.spec.ts',
  'services/coffer/src/logRewritten.int.spec.ts',
  'services/coffer/src/projectorKilled.int.spec.ts',
];

// Mocha would add the specs of its configuration file to these.
const config = ['--no-config', '--require', 'packages/testing/src/mochaSetup.ts', '--timeout', '60000'];
const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const child = spawn(process.execPath, [mocha, ...config, ...SPECS, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, COFFER_SPEC_EVENT_STORE: 'eventstoredb' },
});
const [exitCode] = await once(child, 'exit');
process.exitCode = exitCode ?? 1;
