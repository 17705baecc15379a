/** Writing processes and what they say they have done. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AppendRequest } from '../src/port.ts';

export interface WriterTask {
  readonly connectionString: string;
  /** Nobody else writes to these: a wrong revision is a fault. */
  readonly ownStreams: readonly string[];
  /** Others write to these as well: a wrong revision is the rule. */
  readonly sharedStreams: readonly string[];
}

export type WriterMessage =
  | { readonly kind: 'attempt'; readonly request: AppendRequest }
  | { readonly kind: 'acknowledged' | 'refused'; readonly ids: readonly string[] }
  | { readonly kind: 'retried'; readonly because: string }
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface Writer {
  /** Ids of events whose append was answered with success. */
  readonly acknowledged: ReadonlySet<string>;
  /** Ids of events whose append was refused, for good. */
  readonly refused: ReadonlySet<string>;
  /** Names of the errors after which a request was sent again. */
  readonly retriedBecause: readonly string[];
  /** Requests that were neither acknowledged nor refused. */
  unanswered(): readonly AppendRequest[];
  /** Resolves when so many events are acknowledged. Throws what the writer has failed of. */
  untilAcknowledged(count: number): Promise<void>;
  /** Lets every request come to its answer, then ends the process. Throws what the writer has failed of. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export function startWriter(task: WriterTask): Writer {
  const child: ChildProcess = fork(fileURLToPath(import.meta.resolve('./writer.ts')));
  const exited = once(child, 'exit');
  const acknowledged = new Set<string>();
  const refused = new Set<string>();
  const retriedBecause: string[] = [];
  const attempts = new Map<string, AppendRequest>();
  let failure: Error | undefined;
  let isFinished = false;
  let change = Promise.withResolvers<void>();

  const tellOfChange = (): void => {
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };
  const settle = (ids: readonly string[], into: Set<string>): void => {
    for (const id of ids) into.add(id);
    if (ids[0]) attempts.delete(ids[0]);
  };
  child.on('message', (message: WriterMessage) => {
    if (message.kind === 'attempt') attempts.set(message.request.events[0]?.id ?? '', message.request);
    if (message.kind === 'acknowledged') settle(message.ids, acknowledged);
    if (message.kind === 'refused') settle(message.ids, refused);
    if (message.kind === 'retried') retriedBecause.push(message.because);
    if (message.kind === 'finished') isFinished = true;
    if (message.kind === 'failed') failure = new Error(`A writer failed: ${message.reason}`);
    tellOfChange();
  });
  child.once('exit', (code, signal) => {
    if (!isFinished && signal !== 'SIGKILL') failure ??= new Error(`A writer left with ${code ?? signal}.`);
    tellOfChange();
  });
  const until = async (isReached: () => boolean): Promise<void> => {
    while (!isReached()) {
      if (failure) throw failure;
      await change.promise;
    }
  };
  child.send(task);

  return {
    acknowledged,
    refused,
    retriedBecause,
    unanswered: () => [...attempts.values()],
    untilAcknowledged: (count) => until(() => acknowledged.size >= count),
    async stop() {
      if (child.connected) child.send('stop');
      try {
        await until(() => isFinished);
      } finally {
        if (child.connected) child.disconnect();
        await exited;
      }
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
