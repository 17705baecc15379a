/** The processes on this machine, as the system reports them. */
import { execFile } from 'node:child_process';

/** A process that has ended but has not been reaped by its parent does not count. */
export async function isRunning(pid: number): Promise<boolean> {
  const state = await ps('-o', 'stat=', '-p', String(pid));
  return state !== '' && !state.startsWith('Z');
}

/** The processes started by this one whose command line contains the text. */
export async function childrenOf(pid: number, text: string): Promise<readonly number[]> {
  const lines = (await ps('-A', '-o', 'pid=,ppid=,args=')).split('\n');
  return lines.flatMap((line) => {
    const [child = '', parent = '', ...args] = line.trim().split(/\s+/);
    return Number(parent) === pid && args.join(' ').includes(text) ? [Number(child)] : [];
  });
}

function ps(...args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    // It fails if there is no such process.
    execFile('ps', args, (_error, stdout) => resolve(stdout.trim()));
  });
}
