/** What runs on this machine, as the system sees it. */
import { execFile } from 'node:child_process';

/** A process that has ended and whose parent has not asked how is none any more. */
export async function isRunning(pid: number): Promise<boolean> {
  const state = await ps('-o', 'stat=', '-p', String(pid));
  return state !== '' && !state.startsWith('Z');
}

/** The processes that this one has started and whose command line has the text. */
export async function childrenOf(pid: number, text: string): Promise<readonly number[]> {
  const lines = (await ps('-A', '-o', 'pid=,ppid=,args=')).split('\n');
  return lines.flatMap((line) => {
    const [child = '', parent = '', ...args] = line.trim().split(/\s+/);
    return Number(parent) === pid && args.join(' ').includes(text) ? [Number(child)] : [];
  });
}

function ps(...args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    // It fails when there is no such process.
    execFile('ps', args, (_error, stdout) => resolve(stdout.trim()));
  });
}
