/**
 * A process of its own that outlives the specs for as long as it takes to clean up after them: when they are
 * gone, for whatever reason, it stops the database servers that killed services left running in their folders
 * and removes the folders. Started by serviceProcess.ts, in a session of its own.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { removeDataFolder, startEmbeddedPostgres } from '@coffer/embedded-postgres';

if (!process.channel)
  throw new Error('A guardian is forked with a channel, which names the folders that it guards.');

const folders: string[] = [];
process.on('message', (folder: string) => folders.push(folder));
process.once('disconnect', async () => {
  // A folder that cannot be cleaned up does not keep the others.
  const ends = await Promise.allSettled(folders.map(cleanUp));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
});

async function cleanUp(folder: string): Promise<void> {
  // Whoever takes over a folder gets the server left in it, and may stop it.
  if (holdsCluster(folder)) await (await startEmbeddedPostgres({ folder, databases: [] })).stop();
  await removeDataFolder(folder);
}

/** In the folder itself, or elsewhere as named by a file in it. */
const holdsCluster = (dataFolder: string): boolean =>
  ['postgres', 'postgres.json'].some((name) => existsSync(join(dataFolder, name)));
