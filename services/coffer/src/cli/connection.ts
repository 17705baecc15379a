/** Where the running service is, and the token that identifies the operator. */
import { resolve } from 'node:path';
import { operatorFilePath, readOperatorFile } from '@coffer/portal/operatorFile';
import { CommandFailure, EXIT, noService } from './failure.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Connection {
  /** The base address: ends with /v1. */
  readonly baseUrl: string;
  readonly token: string;
}

/**
 * From `COFFER_URL` and `COFFER_OPERATOR_TOKEN`; whichever is not set comes from the data folder, whose token is sent to
 * no other service than its own.
 */
export async function findConnection(variables: Variables, workingFolder: string): Promise<Connection> {
  // An empty variable counts as not set.
  const url = variables.COFFER_URL || undefined;
  const token = variables.COFFER_OPERATOR_TOKEN || undefined;
  if (url && token) return { baseUrl: baseUrlOf(url), token };

  const dataFolder = resolve(workingFolder, variables.COFFER_DATA_DIR || '.data');
  const operator = await operatorIn(dataFolder);
  if (!operator) {
    throw noService(
      `No service is running: there is no ${operatorFilePath(dataFolder)}. Start one with "npm start", or set COFFER_DATA_DIR, or COFFER_URL and COFFER_OPERATOR_TOKEN.`,
    );
  }
  const baseUrl = url ? baseUrlOf(url) : operator.baseUrl;
  if (!token && new URL(baseUrl).origin !== new URL(operator.baseUrl).origin) {
    throw new CommandFailure(
      EXIT.wrongUsage,
      `COFFER_URL names ${baseUrl}, and ${operatorFilePath(dataFolder)} has the token of ${operator.baseUrl}. Set COFFER_OPERATOR_TOKEN as well, or leave COFFER_URL out.`,
    );
  }
  return { baseUrl, token: token ?? operator.token };
}

async function operatorIn(dataFolder: string): Promise<Connection | undefined> {
  try {
    const found = await readOperatorFile(dataFolder);
    return found && { baseUrl: baseUrlOf(found.url), token: found.token };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isRefused = error instanceof Error && 'code' in error && error.code === 'EACCES';
    throw noService(isRefused ? `${message}\n${AS_WHOM}` : message, error);
  }
}

const AS_WHOM = 'Run it as the user of the service, or set COFFER_URL and COFFER_OPERATOR_TOKEN.';

function baseUrlOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new CommandFailure(EXIT.wrongUsage, `This is not a service's http address: ${url}`);
  }
  const trimmed = url.replace(/\/+$/, '');
  return trimmed.endsWith('/v1') ? trimmed : `${trimmed}/v1`;
}
