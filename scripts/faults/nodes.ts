/** The real program as child processes, which die of SIGKILL: by their own hand at a fail point, or by ours. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FailPointName } from '@coffer/kernel';
import { eventually } from '../../services/coffer/src/testing/eventually.ts';

const PROGRAM = join(import.meta.dirname, '../../services/coffer/bin/coffer.mjs');
const START_LIMIT_MS = 60_000;
const KEPT_CHARACTERS = 20_000;

export interface Node {
  /** Undefined where it does not serve the API. */
  readonly url: string | undefined;
  readonly isAlive: () => boolean;
  /** Resolves when it is gone, with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>;
  /** The end of what it has said. */
  readonly said: () => string;
  readonly kill: () => void;
}

export type Nodes = ReturnType<typeof createNodes>;

export function createNodes(variables: Readonly<Record<string, string>>) {
  const children = new Set<ChildProcess>();
  const killAll = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', killAll);

  return {
    async start(roles: readonly string[], failPoint?: FailPointName): Promise<Node> {
      const { PATH = '', HOME = '' } = process.env;
      const child = spawn(process.execPath, [PROGRAM, 'run', ...roles], {
        env: {
          PATH,
          HOME,
          NODE_COMPILE_CACHE: join(tmpdir(), 'coffer-spec-compile-cache'),
          PORT: '0',
          ...variables,
          ...(failPoint && { COFFER_FAIL_POINT: failPoint }),
        },
        // The channel carries nothing: the program ends when it breaks, so that it cannot outlive us.
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
      const ready = await eventually(
        `${roles.join(' ')} is ready`,
        () => readyLine(said) ?? (isAlive ? undefined : { url: undefined }),
        START_LIMIT_MS,
      );
      return {
        url: ready.url,
        isAlive: () => isAlive,
        ended,
        said: () => said,
        kill: () => void child.kill('SIGKILL'),
      };
    },
    async stop(): Promise<void> {
      killAll();
      await Promise.all([...children].map((child) => once(child, 'close')));
      process.off('exit', killAll);
    },
  };
}

function readyLine(said: string): { readonly url: string | undefined } | undefined {
  const line = said.split('\n').find((one) => one.includes('"msg":"ready"') && one.endsWith('}'));
  if (line === undefined) return undefined;
  const { url }: { url?: string } = JSON.parse(line);
  return { url: url === undefined ? undefined : new URL(url).origin };
}
