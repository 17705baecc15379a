/** An export of the log, written into another store under the chain that it had. */
import type { Client } from '@coffer/database';
import { type ImportedLog, importLog, type LogImport } from '@coffer/portal';
import { carryChain } from './carriedChain.ts';

interface ChainedImport<Forgotten> extends Omit<LogImport, 'chain'> {
  /** Discards whatever else was read of the log, since it refers to positions that no longer exist. */
  readonly forget: (client: Client) => Promise<Forgotten>;
}

export interface ImportedChain extends ImportedLog {
  /** The end of the chain, which covers all of the log; null for an empty log. */
  readonly head: { readonly ordinal: number; readonly hash: string } | null;
}

/**
 * Safe to kill and repeat at any time: until the last transaction only events are written, and existing ones are not
 * written again. One transaction forgets and replaces the chain.
 */
export async function importChainedLog<Forgotten>(
  client: Client,
  { forget, ...log }: ChainedImport<Forgotten>,
): Promise<ImportedChain & Forgotten> {
  const chain = await carryChain(client);
  const imported = await importLog({ ...log, chain });
  const head = await chain.finish();
  await client.query('begin');
  const forgotten = await forget(client);
  await chain.replace();
  await client.query('commit');
  return {
    ...imported,
    head: head ? { ordinal: head.ordinal, hash: head.hash.toString('hex') } : null,
    ...forgotten,
  };
}
