/**
 * Regenerates the table in `docs/errors.md` from the catalogues. Run it after adding or rewording an error.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCatalogues, ROOT } from './docs/contexts.ts';
import { errorRows, withErrorTable } from './docs/tables.ts';

const path = join(ROOT, 'docs', 'errors.md');
const rows = errorRows(await errorCatalogues());
await writeFile(path, withErrorTable(await readFile(path, 'utf8'), rows));
process.stdout.write(`docs/errors.md lists ${rows.length} errors.\n`);
