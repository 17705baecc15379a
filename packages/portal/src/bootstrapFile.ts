/**
 * `bootstrap.json` in the data folder: what the first user of an embedded installation needs to call it.
 * Source: contract, Apps, keys, currencies.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { DamagedFileError, readIfPresent, writePrivateFile } from './privateFile.ts';

const keyPair = z.object({ publishable: z.string(), secret: z.string() });

const bootstrapContent = z.object({
  /** Ends with /v1. */
  baseUrl: z.string(),
  appId: z.string(),
  keys: z.object({ test: keyPair, live: keyPair }),
  messenger: z.object({ botToken: z.string() }),
  portalUrl: z.string(),
  portalToken: z.string(),
  /** The RPC address of the embedded chain, if there is one. */
  chainUrl: z.string().optional(),
  /** For clients of EventStoreDB, with user and password, if the log is served to them. */
  storeGatewayUrl: z.string().optional(),
});
export type BootstrapContent = z.infer<typeof bootstrapContent>;

export const bootstrapFilePath = (dataFolder: string): string => join(dataFolder, 'bootstrap.json');

/** Mode 0600, replaced atomically. */
export const writeBootstrapFile = (path: string, content: BootstrapContent): Promise<void> =>
  writePrivateFile(path, `${JSON.stringify(content, null, 2)}\n`);

/** Undefined if there is none. Throws if the file is not a bootstrap file. */
export async function readBootstrapFile(path: string): Promise<BootstrapContent | undefined> {
  const text = await readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return bootstrapContent.parse(JSON.parse(text));
  } catch (cause) {
    throw new DamagedFileError(`${path} is not a bootstrap file. Move it away; its keys keep working.`, {
      cause,
    });
  }
}
