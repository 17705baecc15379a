/** A relay in a process of its own, to be killed and paused. It ends with its parent. */
import { createPool } from '@coffer/database';
import { ourLog } from '@coffer/event-store';
import { startRelay } from '../relay.ts';
import type { KafkaSettings } from '../settings.ts';
import { nothingTold } from './nothingTold.ts';
import { openLog } from './relayWorld.ts';

export interface RelayProcessOptions {
  readonly databaseUrl: string;
  readonly settings: KafkaSettings;
  readonly leaseMs: number;
}

const { databaseUrl, settings, leaseMs }: RelayProcessOptions = JSON.parse(process.argv[2] ?? '{}');
const pool = createPool({ connectionString: databaseUrl, applicationName: 'relay', onIdleError() {} });

startRelay({
  settings,
  toldEvents: nothingTold,
  pool,
  store: ourLog(openLog(databaseUrl)),
  onAlarm({ error }) {
    throw error;
  },
  onTrouble() {},
  pageSize: 200,
  minPageIntervalMs: 0,
  leaseMs,
  standbyPollMs: 50,
  firstRetryMs: 20,
});
process.once('disconnect', () => process.exit());
