/** Processor time by process and thread, from `/proc`. Elsewhere than on Linux there is none to read. */
import { readdir, readFile } from 'node:fs/promises';

/** Milliseconds since the start of each, by what it does. */
export type ProcessorTimes = ReadonlyMap<string, number>;

/** The kernel counts in hundredths of a second, whatever its own tick (`USER_HZ`). */
const MS_PER_TICK = 10;

interface Stat {
  readonly name: string;
  readonly parent: number;
  readonly ms: number;
}

/** Of a service with its PostgreSQL and chain, and of a load generator. Undefined where the system does not tell. */
export async function processorTimes(
  service: number,
  generator: number,
): Promise<ProcessorTimes | undefined> {
  if (process.platform !== 'linux') return undefined;
  const times = new Map<string, number>();
  const add = (what: string, ms: number) => times.set(what, (times.get(what) ?? 0) + ms);
  for (const pid of await familyOf(service)) {
    const command = (await textOf(`/proc/${pid}/cmdline`))?.replaceAll('\0', ' ') ?? '';
    if (pid === service) {
      for (const { name, ms } of await statsIn(`/proc/${pid}/task`)) add(threadWords(name), ms);
      continue;
    }
    const stat = await statOf(`/proc/${pid}/stat`);
    if (!stat) continue;
    add(stat.name === 'postgres' ? postgresWords(command, pid) : 'embedded chain', stat.ms);
  }
  add('load generator', (await statOf(`/proc/${generator}/stat`))?.ms ?? 0);
  return times;
}

/** What was spent between two readings, largest first. */
export function spentBetween(before: ProcessorTimes, after: ProcessorTimes): ProcessorTimes {
  const spent = [...after].map(([what, ms]) => [what, ms - (before.get(what) ?? 0)] as const);
  return new Map(spent.filter(([, ms]) => ms > 0).toSorted(([, left], [, right]) => right - left));
}

const threadWords = (name: string): string => {
  if (name === 'MainThread' || name === 'node') return 'service, main thread';
  return name.startsWith('V8Worker') ? 'service, V8 helpers' : `service, ${name}`;
};

/** Backends are told apart, because one of them appends. */
const postgresWords = (command: string, pid: number): string =>
  command.includes('idle') || command.includes('127.0.0.1') || command.includes('[local]')
    ? `PostgreSQL backend ${pid}`
    : 'PostgreSQL, its own processes';

async function familyOf(root: number): Promise<readonly number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir('/proc')) {
    const stat = /^\d+$/.test(entry) ? await statOf(`/proc/${entry}/stat`) : undefined;
    if (stat) parents.set(Number(entry), stat.parent);
  }
  const family = [root];
  for (const pid of family) {
    for (const [child, parent] of parents) if (parent === pid) family.push(child);
  }
  return family;
}

async function statsIn(folder: string): Promise<readonly Stat[]> {
  const stats = await Promise.all((await readdir(folder)).map((entry) => statOf(`${folder}/${entry}/stat`)));
  return stats.filter((stat) => stat !== undefined);
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; undefined if it has ended. */
async function statOf(path: string): Promise<Stat | undefined> {
  const text = await textOf(path);
  return text === undefined ? undefined : parseStat(text);
}

/** The name is in parentheses and may contain some. */
export function parseStat(text: string): Stat {
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  return {
    name: text.slice(text.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    ms: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
  };
}

/** Undefined for a process that has ended. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined;
    throw error;
  });
}

/** The memory of a service and what it has started, but for PostgreSQL: shared pages count in parts. Linux only. */
export async function residentMiBOf(service: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  let kibibytes = 0;
  for (const pid of await familyOf(service)) {
    if ((await statOf(`/proc/${pid}/stat`))?.name === 'postgres') continue;
    const rollup = (await textOf(`/proc/${pid}/smaps_rollup`)) ?? '';
    kibibytes += Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
  }
  return kibibytes / 1024;
}
