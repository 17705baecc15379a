/**
 * The real program as child processes, as an operator starts and kills it. Whatever a suite starts ends with the
 * suite, even if it fails or is itself killed.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Role } from '@coffer/host';
import { COMPILE_CACHE, endEventStores, eventStoreUrlOf, eventually, startScript } from '@coffer/testing';
import { z } from 'zod';

const { flags: FLAGS, program: PROGRAM } = startScript();
const GUARDIAN = fileURLToPath(import.meta.resolve('./dataFolderGuardian.ts'));

/** One for all: nodes with data folders of their own share a database. */
const IDENTITY_KEY = Buffer.alloc(32, 7).toString('base64');

export const OPERATOR_TOKEN = 'the-operator-token-of-the-process-specs';

/** By name and value; service variables in the specs' own environment are not passed on. */
export type Variables = Readonly<Record<string, string>>;

/** Where threads can share a port. */
export const SEVERAL_THREADS: Variables = process.platform === 'linux' ? { COFFER_API_THREADS: '3' } : {};

export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ServiceProcess {
  readonly pid: number;
  /** Without a path. */
  readonly url: string;
  readonly dataFolder: string;
  /** Everything it has printed so far. */
  readonly logs: () => string;
  readonly ended: Promise<ProcessEnd>;
  /** A power cut, as far as one process can experience it. Resolves when the process is gone. */
  readonly kill9: () => Promise<void>;
  /** Resolves when the process has exited, which it must do within its own limit. */
  readonly terminate: (signal?: 'SIGTERM' | 'SIGINT') => Promise<ProcessEnd>;
  /** To it and its whole process group, as a terminal does. */
  readonly signalGroup: (signal: StopSignal) => void;
}

export type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP';

export interface ServiceStart {
  readonly roles?: readonly Role[];
  readonly variables?: Variables;
  /** Default: a new one. */
  readonly dataFolder?: string;
  /**
   * `ready`: the read models have caught up, which after a kill waits until the killed one's lease has expired.
   * `listening`: it answers.
   */
  readonly until?: 'listening' | 'ready';
}

export interface ServiceProcesses {
  /** A folder that is removed at the end, with the database server in it. */
  readonly newDataFolder: () => Promise<string>;
  /** `coffer run`. Throws with its logs if it ends before it answers. */
  readonly start: (start: ServiceStart) => Promise<ServiceProcess>;
  /** Any command of the program, while it runs. */
  readonly startCommand: (args: readonly string[], variables: Variables) => RunningCommand;
  /** Any command of the program, to its end. */
  readonly command: (args: readonly string[], variables: Variables) => Promise<ProcessEnd>;
}

interface RunningCommand {
  /** Everything it has printed so far. */
  readonly logs: () => string;
  readonly ended: Promise<ProcessEnd>;
  /** As Ctrl-C does. */
  readonly interrupt: () => void;
  /** The same, to its whole process group. */
  readonly interruptGroup: () => void;
}

interface Child {
  readonly process: ChildProcess;
  readonly logs: () => string;
  readonly ended: Promise<ProcessEnd>;
}

/** Called in a `describe`: whatever it starts ends after the last test. */
export function serviceProcesses(): ServiceProcesses {
  const children = new Set<Child>();
  let guardian: ChildProcess | undefined;
  const dataFolders = new Set<string>();

  after('no process is left', async () => {
    for (const child of children) child.process.kill('SIGKILL');
    await Promise.all([...children].map(({ ended }) => ended));
    await endEventStores((owner) => dataFolders.has(owner));
    if (guardian) await endGuardian(guardian);
  });

  return {
    newDataFolder,
    start,
    startCommand(args, variables) {
      const { process: launched, logs, ended } = launch(args, variables);
      const interruptGroup = () => {
        if (launched.pid !== undefined) process.kill(-launched.pid, 'SIGINT');
      };
      return { logs, ended, interrupt: () => void launched.kill('SIGINT'), interruptGroup };
    },
    command: (args, variables) => launch(args, variables).ended,
  };

  async function newDataFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-process-spec-'));
    // If the specs run as root, the database server does not, and must traverse this folder.
    await chmod(folder, 0o711);
    guardian ??= fork(GUARDIAN, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    guardian.send(folder);
    return folder;
  }

  async function start(options: ServiceStart): Promise<ServiceProcess> {
    const { roles = [], variables = {}, until = 'ready' } = options;
    const dataFolder = options.dataFolder ?? (await newDataFolder());
    dataFolders.add(dataFolder);
    const eventStoreUrl = await eventStoreUrlOf(variables.DATABASE_URL ?? dataFolder);
    const child = launch(['run', ...roles], {
      PORT: '0',
      COFFER_DATA_DIR: dataFolder,
      COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...(eventStoreUrl !== undefined && { EVENTSTORE_URL: eventStoreUrl }),
      ...variables,
    });
    let hasEnded = false;
    void child.ended.then(() => {
      hasEnded = true;
    });
    const refuseToWait = () => {
      if (hasEnded) throw new Error(`The service ended before it was ready:\n${child.logs()}`);
    };
    const wanted = () => `a line of the log that says where the service is:\n${child.logs()}`;
    const url = await eventually(wanted, () => {
      const said = urlIn(child.logs());
      // One that is to die may have done so since.
      if (said === undefined) refuseToWait();
      return said;
    });
    if (until === 'ready') {
      await eventually(`${url}/readyz is answered with yes`, async () => {
        refuseToWait();
        return (await isOk(`${url}/readyz`)) || undefined;
      });
    }
    const { pid } = child.process;
    if (pid === undefined) throw new Error('A process that answers has a pid.');
    return {
      pid,
      url,
      dataFolder,
      logs: child.logs,
      ended: child.ended,
      async kill9() {
        child.process.kill('SIGKILL');
        await child.ended;
      },
      terminate(signal = 'SIGTERM') {
        child.process.kill(signal);
        return child.ended;
      },
      signalGroup: (signal) => void process.kill(-pid, signal),
    };
  }

  function launch(args: readonly string[], variables: Variables): Child {
    const { PATH = '', HOME = '' } = process.env;
    const launched = spawn(process.execPath, [...FLAGS, PROGRAM, ...args], {
      env: {
        PATH,
        HOME,
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        COFFER_IDENTITY_KEY: IDENTITY_KEY,
        ...variables,
      },
      // A process group of its own, for signals sent to a whole group.
      detached: true,
      // The channel carries nothing: the program ends when it breaks, so it cannot outlive the specs.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const stdout = textOf(launched.stdout);
    const stderr = textOf(launched.stderr);
    const ended = once(launched, 'close').then(([exitCode, signal]): ProcessEnd => {
      children.delete(child);
      return { exitCode, signal, stdout: stdout(), stderr: stderr() };
    });
    const child: Child = { process: launched, logs: () => stdout() + stderr(), ended };
    children.add(child);
    return child;
  }
}

async function endGuardian(guardian: ChildProcess): Promise<void> {
  if (guardian.exitCode === null && guardian.connected) {
    const exit = once(guardian, 'exit');
    guardian.disconnect();
    await exit;
  }
  if (guardian.exitCode !== 0)
    throw new Error('A data folder could not be cleaned up; see the message above.');
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

const readyLine = z.object({ msg: z.literal('ready'), url: z.string() });

function urlIn(logs: string): string | undefined {
  for (const line of logs.split('\n').slice(0, -1)) {
    if (!line.startsWith('{')) continue;
    const ready = readyLine.safeParse(JSON.parse(line));
    if (ready.success) return new URL(ready.data.url).origin;
  }
  return undefined;
}

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.ok;
}
