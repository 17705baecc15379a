/** The real program as child processes that die by SIGKILL: sent by themselves at a fail point, or by us. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { FailPointName } from '@coffer/kernel';
import { COMPILE_CACHE, eventually, startScript } from '@coffer/testing';

const { flags: FLAGS, program: PROGRAM } = startScript();
const KEPT_CHARACTERS = 20_000;

export interface Node {
  /** Undefined if it does not serve the API. */
  readonly url: string | undefined;
  readonly isAlive: () => boolean;
  /** Resolves when it has ended, with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>;
  /** The end of its output. */
  readonly said: () => string;
  readonly kill: () => void;
}

export type Nodes = ReturnType<typeof createNodes>;

export function createNodes(variables: Readonly<Record<string, string>>) {
  const children = new Set<ChildProcess>();
  const kill = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', kill);

  return { start, command, killAll, stop };

  function launch(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(process.execPath, [...FLAGS, PROGRAM, ...args], {
      env: {
        PATH,
        HOME,
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        PORT: '0',
        ...variables,
        ...more,
      },
      // The channel carries nothing, but the program exits when it breaks, so it cannot outlive us.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.add(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-KEPT_CHARACTERS);
      });
    }
    let isAlive = true;
    const ended = once(child, 'close').then(([, signal]): NodeJS.Signals | null => {
      isAlive = false;
      children.delete(child);
      return signal;
    });
    return { child, ended, said: () => said, isAlive: () => isAlive };
  }

  async function start(roles: readonly string[], failPoint?: FailPointName): Promise<Node> {
    const { child, ...launched } = launch(
      ['run', ...roles],
      failPoint === undefined ? {} : { COFFER_FAIL_POINT: failPoint },
    );
    const { said, isAlive } = launched;
    // A process that is about to die may do so before it is ready.
    const ready = await eventually(
      `${roles.join(' ')} is ready`,
      () => readyLine(said()) ?? (isAlive() ? undefined : { url: undefined }),
    );
    return { ...launched, url: ready.url, kill: () => void child.kill('SIGKILL') };
  }

  /** Runs a command of the program, which must succeed. */
  async function command(args: readonly string[]): Promise<void> {
    const { child, ended, said } = launch(args);
    await ended;
    if (child.exitCode !== 0) throw new Error(`coffer ${args.join(' ')} failed:\n${said()}`);
  }

  async function killAll(): Promise<void> {
    const closed = [...children].map((child) => once(child, 'close'));
    kill();
    await Promise.all(closed);
  }

  async function stop(): Promise<void> {
    await killAll();
    process.off('exit', kill);
  }
}

function readyLine(said: string): { readonly url: string | undefined } | undefined {
  const line = said.split('\n').find((one) => one.includes('"msg":"ready"') && one.endsWith('}'));
  if (line === undefined) return undefined;
  const { url }: { url?: string } = JSON.parse(line);
  return { url: url === undefined ? undefined : new URL(url).origin };
}
