/**
 * Checks the ports that a start will listen on before anything is created: a start that cannot work leaves no data
 * folder and no database behind.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Role } from '@coffer/host';
import type { Config } from './config.ts';

/** After a service is killed, its chain ends a moment later. */
const CHAIN_LEAVES_WITHIN_MS = 3_000;
const LOOK_AGAIN_MS = 50;

interface Listener {
  /** Names the port. */
  readonly variable: string;
  /** Names the address. */
  readonly hostVariable: string;
  readonly host: string;
  readonly port: number;
  readonly isOfChain?: boolean;
  /** How long to wait for a process that is about to release it. Default: not at all. */
  readonly waitMs?: number;
}

/** A port or an address is unavailable; the message is for the person starting the service. */
export class PortUnusableError extends Error {
  override readonly name = 'PortUnusableError';
}

/** Throws a `PortUnusableError` if one of them cannot be listened on. Holds none of them. */
export async function requirePorts(config: Config, roles: readonly Role[]): Promise<void> {
  const held: { readonly server: Server; readonly by: Listener }[] = [];
  try {
    for (const listener of listenersOf(config, roles)) {
      const server = await listen(listener).catch((error: NodeJS.ErrnoException) => {
        const rival = held.find(({ by }) => by.port === listener.port)?.by;
        throw new PortUnusableError(whyNot(error, listener, rival), { cause: error });
      });
      held.push({ server, by: listener });
    }
  } finally {
    for (const { server } of held) {
      server.close();
      await once(server, 'close');
    }
  }
}

/** Only explicit ports; a free one is chosen when needed. */
function listenersOf(config: Config, roles: readonly Role[]): readonly Listener[] {
  const { host, port, systemPort, operatorAddress, storeGateway, chain, dataFolder } = config;
  const hostVariable = 'HOST';
  const listeners: Listener[] = [];
  if (roles.includes('api')) {
    listeners.push({ variable: 'PORT', hostVariable, host, port });
    if (operatorAddress) {
      listeners.push({
        variable: 'COFFER_OPERATOR_PORT',
        hostVariable: 'COFFER_OPERATOR_HOST',
        ...operatorAddress,
      });
    }
  } else if (systemPort !== undefined) {
    listeners.push({ variable: 'COFFER_SYSTEM_PORT', hostVariable, host, port: systemPort });
  }
  if (storeGateway) {
    listeners.push({
      variable: 'COFFER_STORE_GATEWAY_PORT',
      hostVariable: 'COFFER_STORE_GATEWAY_HOST',
      host: storeGateway.host,
      port: storeGateway.port,
    });
  }
  if (chain.embedded && chain.embedded.port !== 0) {
    const waitMs = existsSync(join(dataFolder, 'chain')) ? CHAIN_LEAVES_WITHIN_MS : 0;
    const shared = {
      variable: 'COFFER_CHAIN_PORT',
      hostVariable,
      host: '127.0.0.1',
      isOfChain: true,
      waitMs,
    };
    for (const port of [chain.embedded.port, chain.embedded.port + 1]) listeners.push({ ...shared, port });
  }
  return listeners;
}

async function listen({ host, port, waitMs = 0 }: Listener): Promise<Server> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const server = createServer().listen({ host, port, exclusive: true });
    try {
      await once(server, 'listening');
      return server;
    } catch (error) {
      if (performance.now() >= deadline) throw error;
      await delay(LOOK_AGAIN_MS);
    }
  }
}

function whyNot({ code, message }: NodeJS.ErrnoException, listener: Listener, rival?: Listener): string {
  const { variable, hostVariable, host, port, isOfChain } = listener;
  if (code === 'EADDRINUSE') {
    const why = rival ? `is also set in ${rival.variable}` : 'is taken';
    return isOfChain
      ? `The port ${port} ${why}, and the embedded chain needs it.\n` +
          `Set ${variable} to another port whose next port is free as well, or to 0 for any.`
      : `The port ${port} ${why}. Set ${variable} to another port, or to 0 for any free one.`;
  }
  if (code === 'EACCES') {
    return `This user may not use port ${port}. Set ${variable} to 1024 or above, or to 0 for any free port.`;
  }
  return `Cannot listen on ${host}, port ${port}: ${message}\nSet ${hostVariable} to an address of this machine.`;
}
