/**
 * `operator.json` in the data folder: how the command line finds the running service and authenticates to it.
 * Written by the service at each start. Source: contract, The command line.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { DamagedFileError, readIfPresent, writePrivateFile } from './privateFile.ts';

const operatorFile = z.object({
  /** The base address, ending with /v1. */
  url: z.url(),
  token: z.string().min(1),
});
export type OperatorFile = z.infer<typeof operatorFile>;

export const operatorFilePath = (dataFolder: string): string => join(dataFolder, 'operator.json');

/** Mode 0600, replaced atomically. */
export const writeOperatorFile = (dataFolder: string, content: OperatorFile): Promise<void> =>
  writePrivateFile(operatorFilePath(dataFolder), `${JSON.stringify(content, null, 2)}\n`);

/** Undefined if the service has never run in this folder. Throws if the file is not an operator file. */
export async function readOperatorFile(dataFolder: string): Promise<OperatorFile | undefined> {
  const path = operatorFilePath(dataFolder);
  const text = await readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return operatorFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new DamagedFileError(
      `${path} is not an operator file. Start the service again: it writes a new one.`,
      {
        cause,
      },
    );
  }
}
