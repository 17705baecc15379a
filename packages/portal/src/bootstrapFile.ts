/**
 * `bootstrap.json` in the data folder: what a first user of an embedded installation needs to call it.
 * Source: contract, Apps, keys, currencies.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { readIfPresent, writePrivateFile } from './privateFile.ts';

const keyPair = z.object({ publishable: z.string(), secret: z.string() });

const bootstrapContent = z.object({
  /** Ends with /v1. */
  baseUrl: z.string(),
  appId: z.string(),
  keys: z.object({ test: keyPair, live: keyPair }),
  messenger: z.object({ botToken: z.string() }),
  portalUrl: z.string(),
  portalToken: z.string(),
  /** Of the RPC of the embedded chain, where there is one. */
  chainUrl: z.string().optional(),
  /** For clients of EventStoreDB, with a user and a password, where the log is served to them. */
  storeGatewayUrl: z.string().optional(),
});
export type BootstrapContent = z.infer<typeof bootstrapContent>;

export const bootstrapFilePath = (dataFolder: string): string => join(dataFolder, 'bootstrap.json');

/** Mode 0600, replaced in one step. */
export const writeBootstrapFile = (path: string, content: BootstrapContent): Promise<void> =>
  writePrivateFile(path, `${JSON.stringify(content, null, 2)}\n`);

/** Undefined when there is none. Throws on a file that is no bootstrap file. */
export async function readBootstrapFile(path: string): Promise<BootstrapContent | undefined> {
  const text = await readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return bootstrapContent.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is not a bootstrap file. Move it away; its keys keep working.`, { cause });
  }
}
