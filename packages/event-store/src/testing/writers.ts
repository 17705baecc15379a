/** Starts writer processes and keeps account of their acknowledgements. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AppendRequest, AppendResult } from '../port.ts';
import type { WriterOptions, WriterReport } from './writer.ts';

export interface Acknowledged {
  readonly request: AppendRequest;
  readonly result: AppendResult;
}

export interface Writer {
  readonly acknowledged: readonly Acknowledged[];
  /** The last attempt of each lane, if not acknowledged. */
  unacknowledged(): readonly AppendRequest[];
  /** Resolves when the condition holds; checked after each acknowledgement. */
  until(isReached: () => boolean): Promise<void>;
  /** Ends after the appends in flight. */
  stop(): Promise<void>;
  /** SIGKILL. Resolves when the process is gone and everything it reported was read. */
  kill(): Promise<void>;
  /** Resolves when it has written everything; rejects when it failed. */
  readonly ended: Promise<void>;
}

export function startWriter(options: WriterOptions): Writer {
  const child = fork(fileURLToPath(import.meta.resolve('./writer.ts')), [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const acknowledged: Acknowledged[] = [];
  const attempts = new Map<number, AppendRequest>();
  let change = Promise.withResolvers<void>();
  child.on('message', (report: WriterReport) => {
    if (report.kind === 'attempt') {
      attempts.set(report.lane, report.request);
      return;
    }
    const request = attempts.get(report.lane);
    if (!request) throw new Error('An acknowledgement came before its attempt.');
    attempts.delete(report.lane);
    acknowledged.push({ request, result: report.result });
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  });
  const ended = whenEnded(child);
  // It fails where it is awaited; a killed writer is awaited by its exit.
  ended.catch(() => undefined);

  return {
    acknowledged,
    ended,
    unacknowledged: () => [...attempts.values()],
    async until(isReached) {
      const endedEarly = ended.then(() => Promise.reject(new Error('The writer ended before that.')));
      while (!isReached()) await Promise.race([change.promise, endedEarly]);
    },
    async stop() {
      if (child.connected) child.send('stop');
      await ended;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function whenEnded(child: ChildProcess): Promise<void> {
  const [code, signal] = await once(child, 'exit');
  if (code !== 0) throw new Error(`The writer left with ${code ?? signal}.`);
}
