/** `coffer webhooks listen`: hands events on to an address of this machine, read from the feed and signed as deliveries. */
import { setTimeout as delay } from 'node:timers/promises';
import { newSecret, signedHeaders, signingKey } from '@coffer/webhooks/signature';
import { z } from 'zod';
import type { AdminApi } from '../adminApi.ts';
import { CommandFailure, EXIT } from '../failure.ts';

export interface ListenOptions {
  readonly api: AdminApi;
  readonly appId: string;
  /** Where events are sent. */
  readonly forward: string;
  readonly secret?: string | undefined;
  /** Without it: what happens from now on. */
  readonly after?: number | undefined;
  readonly types?: string | undefined;
  readonly environment?: string | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly onEvent: (handed: HandedOn) => Promise<void>;
  /** Something for the reader's eyes. */
  readonly say: (text: string) => Promise<void>;
}

interface HandedOn {
  readonly sequence: number;
  readonly type: string;
  readonly id: string;
  readonly status: number;
}

const WAIT_SECONDS = 25;
const ANSWER_TIMEOUT_MS = 10_000;
const EMPTY_PAUSE_MS = 250;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 5_000;

const event = z.looseObject({ id: z.string(), type: z.string(), sequence: z.int() });
const page = z.object({ items: z.array(event), nextAfter: z.int() });

/** Runs until the signal is aborted, and answers the number after which to go on. */
export async function listen(options: ListenOptions): Promise<number> {
  const { api, appId, types, environment, signal, say } = options;
  if (!URL.canParse(options.forward) || !/^https?:/.test(options.forward)) {
    throw new CommandFailure(EXIT.wrongUsage, `This is not an http address: ${options.forward}`);
  }
  const { secret = newSecret() } = options;
  if (!/^whsec_[A-Za-z0-9+/]+=*$/.test(secret)) {
    throw new CommandFailure(EXIT.wrongUsage, 'A secret is whsec_ and base64.');
  }
  const path = `/portal/app/${encodeURIComponent(appId)}/events`;
  const read = async (after: number | 'last', wait: number) =>
    page.parse(
      await api.get(path, { after: String(after), wait: String(wait), types, environment }, { signal }),
    );

  let after = options.after ?? (await read('last', 0)).nextAfter;
  await say(`Signing with ${secret}`);
  await say(`Events after ${after} go to ${options.forward}. Ctrl-C ends it.`);
  try {
    for (;;) {
      const { items, nextAfter } = await patiently(
        () => read(after, WAIT_SECONDS),
        (error) => error instanceof CommandFailure && error.exitCode === EXIT.noService,
        options,
      );
      for (const item of items) {
        const status = await patiently(() => post(options, secret, item), isUnanswered, options);
        after = item.sequence;
        await options.onEvent({ sequence: after, type: item.type, id: item.id, status });
      }
      after = nextAfter;
      // A service that is busy answers at once.
      if (items.length === 0) await delay(EMPTY_PAUSE_MS, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return after;
  }
}

/** Tries again while nobody answers, and says so once. */
async function patiently<Value>(
  attempt: () => Promise<Value>,
  isAway: (error: unknown) => boolean,
  { signal, say }: ListenOptions,
): Promise<Value> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(LONGEST_RETRY_MS, delayMs * 2)) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !isAway(error)) throw error;
      if (delayMs === FIRST_RETRY_MS) await say(`Waiting: ${messageOf(error)}`);
      await delay(delayMs, undefined, { signal });
    }
  }
}

class Unanswered extends Error {}
const isUnanswered = (error: unknown): boolean => error instanceof Unanswered;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Answers the status, whatever it is. */
async function post(
  { forward, signal }: ListenOptions,
  secret: string,
  item: z.output<typeof event>,
): Promise<number> {
  const body = Buffer.from(JSON.stringify(item));
  try {
    const answer = await fetch(forward, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signedHeaders({ id: item.id, type: item.type, body }, [signingKey(secret)], new Date()),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    });
    await answer.body?.cancel();
    return answer.status;
  } catch (error) {
    throw new Unanswered(`nothing answers at ${forward}.`, { cause: error });
  }
}
