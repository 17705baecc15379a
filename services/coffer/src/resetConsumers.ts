/**
 * `coffer consumers reset`: after a restore, forgets whatever was read of a log that no longer exists. The
 * procedure is in docs/operating/restore.md.
 */
import { CHAIN_CONSUMER, setBlocksAside } from '@coffer/audit';
import { CHAIN_WORKERS, pauseSigning } from '@coffer/chain-worker';
import { type ConsumerKey, forgetPlace, leaseHolder } from '@coffer/consumers';
import { type Client, type Pool, type Queryable, withTransaction } from '@coffer/database';
import { forgetSnapshots } from '@coffer/event-store/postgres';
import { KAFKA_CONSUMER } from '@coffer/kafka';
import { READ_MODELS_CONSUMER, readSchemas } from '@coffer/read-models';
import { forgetScrubPass, verifiedSchemas } from '@coffer/reconcile';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { offline } from './database.ts';
import { startFailure } from './startFailure.ts';

/** Each finishes what the log shows as unfinished, by idempotent acts; what webhooks have told keeps its number. */
const PROCESSES = ['holds', 'identities', ...Object.values(CHAIN_WORKERS), 'webhooks'].map(
  (name): ConsumerKey => ({ schema: 'records', name }),
);

export interface ResetResult {
  /** Schemas that were dropped; the next start fills new ones from the log. */
  readonly dropped: readonly string[];
  /** Consumers that read the log from its beginning at the next start. */
  readonly restarted: readonly string[];
}

/** On the configured database. Throws a `CommandFailure` while a service is running. */
export async function resetConsumersFrom(environment: NodeJS.ProcessEnv): Promise<ResetResult> {
  try {
    return await offline(environment, ({ pool }) => resetConsumers(pool));
  } catch (error) {
    throw startFailure(error) ?? error;
  }
}

/**
 * All are safe at any time. Read models hold nothing that is not in the log. A process does what the log shows as
 * still to be done, and each of its acts is idempotent, so reading from the beginning repeats none. The chain is
 * rewritten with the same hashes, as far as the log is the same.
 */
export function resetConsumers(pool: Pool): Promise<ResetResult> {
  return withTransaction(pool, async (client) => {
    await refuseWhileServicesRun(client);
    const dropped = await dropAll(client, await readSchemas(client));
    for (const process of PROCESSES) await forgetPlace(client, process);
    await setBlocksAside(client);
    await forgetSnapshots(client);
    await pauseSigning(client);
    await forgetScrubPass(client);
    await forgetPlace(client, CHAIN_CONSUMER);
    return { dropped, restarted: [...PROCESSES, CHAIN_CONSUMER].map(({ name }) => name) };
  });
}

/**
 * For a log that was written into another store, with other positions: forgets everything read of it except the
 * chain, in the caller's transaction. As safe as a reset; whatever else is dropped here costs only the time to
 * rebuild it.
 */
export async function forgetDerived(client: Client): Promise<ResetResult> {
  await refuseWhileServicesRun(client);
  const dropped = await dropAll(client, [...(await readSchemas(client)), ...(await verifiedSchemas(client))]);
  for (const process of PROCESSES) await forgetPlace(client, process);
  await forgetSnapshots(client);
  await forgetScrubPass(client);
  return { dropped, restarted: PROCESSES.map(({ name }) => name) };
}

async function dropAll(client: Client, schemas: readonly string[]): Promise<readonly string[]> {
  for (const schema of schemas) await client.query(`drop schema ${schema} cascade`);
  return schemas;
}

/** Throws a `CommandFailure` while one of the consumers has a runner, which might write what it has read. */
export async function refuseWhileServicesRun(db: Queryable): Promise<void> {
  const readModels = (await readSchemas(db)).map((schema) => ({ schema, name: READ_MODELS_CONSUMER }));
  for (const key of [...readModels, ...PROCESSES, CHAIN_CONSUMER, KAFKA_CONSUMER])
    await refuseWhileRun(db, key);
}

async function refuseWhileRun(db: Queryable, key: ConsumerKey): Promise<void> {
  const owner = await leaseHolder(db, key);
  if (owner === undefined) return;
  throw new CommandFailure(
    EXIT.refused,
    `${key.name} is run by ${owner}. Stop every service first; the lease of a killed one expires in 10 s.`,
  );
}
