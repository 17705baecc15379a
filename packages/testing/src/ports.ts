/** Ports that stay free between the moment at which they are chosen and the one at which a server listens on them. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that operating systems hand out: from 32768 on Linux, from 49152 elsewhere. So nobody gets one by chance. */
const FIRST = 20_000;
const LAST = 29_998;

/** A port that is free, as is the next one. */
export async function freePortPair(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
