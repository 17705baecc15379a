/** One player in one currency of an app: what a stream of funds is named by. Source: architecture, Streams. */
import { z } from 'zod';
import type { Environment } from './environment.ts';
import { parseStreamName, streamName } from './streamName.ts';

export interface AccountKey {
  readonly environment: Environment;
  readonly appId: string;
  readonly userId: string;
  readonly currencyId: number;
}

export const accountKeyedStream = (
  category: string,
  { environment, appId, userId, currencyId }: AccountKey,
): string => streamName(category, environment, appId, `${userId}.${currencyId}`);

const currencyIdSchema = z.int();
const ID = /^(usr_[0-9a-z]{26})\.(0|[1-9][0-9]*)$/;

/** Undefined for any other stream. */
export function parseAccountKeyed(category: string, stream: string): AccountKey | undefined {
  const parts = parseStreamName(stream);
  const match = parts?.category === category ? ID.exec(parts.id) : null;
  if (!parts || !match) return undefined;
  const [, userId = '', digits = ''] = match;
  const currencyId = currencyIdSchema.parse(JSON.parse(digits));
  return { environment: parts.environment, appId: parts.owner, userId, currencyId };
}
