/** The child processes of a run: started, asked, and reliably stopped. */
import { type ChildProcess, type ForkOptions, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** What is cleaned up with the run, however it ends. */
export interface Run {
  readonly stack: AsyncDisposableStack;
  /** Aborted when the run must stop early. */
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

const STDERR_KEPT_CHARACTERS = 4_000;
const KILLED_LIMIT_MS = 5_000;

export interface Child {
  readonly process: ChildProcess;
  /** Rejects when the child ends; never resolves. To be raced against what is expected of the child. */
  readonly ended: Promise<never>;
}

export interface ChildOptions {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  /** How long it may take to exit on SIGTERM. */
  readonly stopLimitMs: number;
  readonly execArgv?: readonly string[];
  /** A file for its output. */
  readonly stdout?: number | undefined;
}

/** One of our workers, to be asked by messages. */
export function forkChild(run: Run, file: string, options: ChildOptions): Child {
  run.signal.throwIfAborted();
  const settings: ForkOptions = {
    env: options.env,
    execArgv: [...(options.execArgv ?? [])],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  };
  return watched(run, fork(file, settings), options);
}

/** A program. It has a channel too, by which it notices when we are gone. */
export function spawnNode(run: Run, args: readonly string[], options: ChildOptions): Child {
  run.signal.throwIfAborted();
  const child = spawn(process.execPath, [...(options.execArgv ?? []), ...args], {
    env: options.env,
    stdio: ['ignore', options.stdout ?? 'ignore', 'pipe', 'ipc'],
    // A separate group: Ctrl-C reaches only us, and we stop it in order.
    detached: true,
  });
  return watched(run, child, options);
}

/** Runs a program to its end. Throws with its output unless it succeeds. */
export async function runNode(run: Run, args: readonly string[], options: ChildOptions): Promise<void> {
  const { process: child, ended } = spawnNode(run, args, options);
  await ended.catch((error: unknown) => {
    if (child.exitCode !== 0) throw error;
  });
}

export function pidOf({ process: { pid } }: Child): number {
  if (pid === undefined) throw new Error('A process that was started has a number.');
  return pid;
}

/** Stops the child with SIGTERM, later with SIGKILL. Resolves when it is gone. */
export async function stopChild(child: ChildProcess, limitMs: number): Promise<void> {
  if (hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await Promise.race([exit, delay(limitMs, undefined, { ref: false })]);
  if (hasEnded(child)) return;
  child.kill('SIGKILL');
  await Promise.race([exit, delay(KILLED_LIMIT_MS, undefined, { ref: false })]);
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

function watched(run: Run, child: ChildProcess, { name, stopLimitMs }: ChildOptions): Child {
  children.add(child);
  run.stack.defer(() => stopChild(child, stopLimitMs));

  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-STDERR_KEPT_CHARACTERS);
  });
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      children.delete(child);
      reject(new Error(`${name} ended (${signal ?? `code ${code}`}). It said:\n${said.trim() || 'nothing'}`));
    });
  });
  // Only those who race against it look at it.
  ended.catch(() => undefined);
  return { process: child, ended };
}

/** Sends one message and waits for one: each of our children answers every message with exactly one. */
export async function askChild(child: Child, message: unknown, limitMs: number): Promise<unknown> {
  const answer = nextMessage(child, limitMs);
  if (!child.process.send) throw new Error('The child has no channel.');
  child.process.send(message as object);
  return answer;
}

export async function nextMessage(child: Child, limitMs: number): Promise<unknown> {
  const done = new AbortController();
  const message = once(child.process, 'message', { signal: done.signal }).then(([value]: unknown[]) => value);
  const tooLate = delay(limitMs, undefined, { ref: false, signal: done.signal }).then(() => {
    throw new Error(`No answer from a child process within ${limitMs} ms.`);
  });
  message.catch(() => undefined);
  tooLate.catch(() => undefined);
  try {
    return await Promise.race([message, tooLate, child.ended]);
  } finally {
    done.abort();
  }
}
