/**
 * A process of its own that outlives the specs for as long as it takes to clean up after them: when they are
 * gone, for whatever reason, it stops the database server that a killed service left running in the folder
 * and removes the folder. Started by serviceProcess.ts, in a session of its own.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { removeDataFolder, startEmbeddedPostgres } from '@coffer/embedded-postgres';

const [folder] = process.argv.slice(2);
if (!folder || !process.channel) throw new Error('A guardian is forked with the folder that it guards.');

process.once('disconnect', async () => {
  // Whoever takes over a folder gets the server left in it, and may stop it.
  if (holdsCluster(folder)) await (await startEmbeddedPostgres({ folder, databases: [] })).stop();
  await removeDataFolder(folder);
});

/** In the folder itself, or elsewhere as named by a file in it. */
const holdsCluster = (dataFolder: string): boolean =>
  ['postgres', 'postgres.json'].some((name) => existsSync(join(dataFolder, name)));
