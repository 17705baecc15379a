/**
 * A process between the specs and their Postgres: when the specs' process is gone, for whatever reason, it stops the
 * server and removes its folder. Started by postgres.ts in its own session, so that Ctrl-C in a terminal does not reach
 * it. Its argument, or else COFFER_SPEC_POSTGRES, is a folder with the programs of a PostgreSQL other than the embedded
 * one.
 */
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, removeDataFolder, startEmbeddedPostgres } from '@coffer/embedded-postgres';

export type SupervisorCommand = 'start' | 'stop';
export type SupervisorReply =
  | { readonly connectionString: string; readonly postmasterPid: number }
  | { readonly stopped: true }
  | { readonly error: string };

const folder = await mkdtemp(join(tmpdir(), 'coffer-test-postgres-'));
// If the specs run as root, the server does not, and has to pass through this folder.
await chmod(folder, 0o711);

const programs = process.argv[2] ?? process.env.COFFER_SPEC_POSTGRES;

let server: EmbeddedPostgres | undefined;
/** One thing at a time: a parent may die in the middle of a start. */
let work: Promise<void> = Promise.resolve();

process.on('message', (command: SupervisorCommand) => {
  work = work.then(async () => reply(await perform(command)));
});
process.on('disconnect', () => {
  work = work.then(async () => {
    await server?.stop();
    await removeDataFolder(folder);
    process.exit();
  });
});

async function perform(command: SupervisorCommand): Promise<SupervisorReply> {
  try {
    await server?.stop();
    server = undefined;
    if (command === 'stop') return { stopped: true };

    server = await startEmbeddedPostgres({ folder, databases: [], programs });
    return { connectionString: server.adminConnectionString, postmasterPid: server.postmasterPid };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function reply(message: SupervisorReply): void {
  // The parent may have gone while we worked; `disconnect` says so.
  if (process.connected) process.send?.(message, () => {});
}
