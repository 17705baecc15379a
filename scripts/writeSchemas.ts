/**
 * Writes docs/schemas from the codecs. Run it after adding an event, a version or an optional field. It writes nothing if
 * a committed schema would change in a way that breaks its readers.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { brokenBy, committedFiles, filesInCode, SCHEMAS } from './schemas/files.ts';

const files = filesInCode();
const broken = [...brokenBy(files, committedFiles())];
if (broken.length > 0) {
  process.stderr.write(`Raise the version of the event instead:\n${broken.join('\n')}\n`);
  process.exitCode = 1;
} else {
  for (const [path, text] of files) {
    await mkdir(dirname(join(SCHEMAS, path)), { recursive: true });
    await writeFile(join(SCHEMAS, path), text);
  }
  process.stdout.write(`docs/schemas holds ${files.size - 1} schemas.\n`);
}
