/** Processes by id, with due doubt: an id in a file may by now be another program's. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { hasCode } from './files.ts';

const run = promisify(execFile);

/** Whether some process has this id, even if only a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

/** The command line of a running process; empty if there is none or only its zombie. */
export async function commandLineOf(pid: number): Promise<string> {
  if (!isAlive(pid)) return '';
  return process.platform === 'linux' ? commandLineFromProc(pid) : commandLineFromPs(pid);
}

/** Returns false if the process no longer exists. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false;
    throw error;
  }
}

async function commandLineFromProc(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH')) return '';
    throw error;
  }
}

async function commandLineFromPs(pid: number): Promise<string> {
  try {
    const { stdout } = await run('ps', ['-ww', '-o', 'stat=,args=', '-p', String(pid)]);
    const [, state, line] = /^\s*(\S+)\s+(.*)$/m.exec(stdout) ?? [];
    return state?.startsWith('Z') ? '' : (line ?? '').trim();
  } catch (error) {
    // ps exits with 1 if there is no such process.
    if (error instanceof Error && 'code' in error && error.code === 1) return '';
    throw error;
  }
}
