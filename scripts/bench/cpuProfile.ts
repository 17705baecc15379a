/** Reads what `node --cpu-prof` writes. */

/** The part of the format used here. Times are microseconds of the machine's monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  /** The node on top of the stack at each sample. */
  readonly samples: readonly number[];
  /** The time from the previous sample to each one. */
  readonly timeDeltas: readonly number[];
}

/** A share of the time in which the thread was not idle. */
export interface Share {
  readonly name: string;
  readonly share: number;
}

export interface BusyTimes {
  /** By function, excluding what each called, the largest first. */
  readonly functions: readonly Share[];
  /** By our package (or else the dependency, or else Node) that was running or had called what was. */
  readonly packages: readonly Share[];
  readonly idleShare: number;
}

const IDLE = '(idle)';
const UNKNOWN = '(unknown)';

/** Where the time between two moments went. Throws if the profile does not cover it. */
export function busyTimes(profile: CpuProfile, fromUs: number, toUs: number): BusyTimes {
  const { nodes, startTime, samples, timeDeltas } = profile;
  const functionNames = new Map(nodes.map(({ id, callFrame }) => [id, functionOf(callFrame)]));
  const packageNames = packagesOf(profile);
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  let atUs = startTime;
  let totalUs = 0;
  let idleUs = 0;
  for (const [index, nodeId] of samples.entries()) {
    const deltaUs = timeDeltas[index] ?? 0;
    atUs += deltaUs;
    if (atUs < fromUs || atUs > toUs) continue;
    totalUs += deltaUs;
    const name = functionNames.get(nodeId) ?? UNKNOWN;
    if (name === IDLE) {
      idleUs += deltaUs;
      continue;
    }
    add(functions, name, deltaUs);
    add(packages, packageNames.get(nodeId) ?? UNKNOWN, deltaUs);
  }
  if (totalUs === 0) throw new Error('The profile has no sample from that time.');
  const busyUs = totalUs - idleUs;
  return {
    functions: sharesOf(functions, busyUs),
    packages: sharesOf(packages, busyUs),
    idleShare: idleUs / totalUs,
  };
}

/** For each node, preferably one of our packages: the one nearest to the top of the stack. */
function packagesOf({ nodes }: CpuProfile): ReadonlyMap<number, string> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const urls = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.url]));
  const stackOf = (id: number): readonly string[] => {
    const stack: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at))
      stack.push(urls.get(at) ?? '');
    return stack;
  };
  return new Map(
    nodes.map(({ id }) => {
      const stack = stackOf(id);
      const first = (pattern: RegExp) =>
        stack.map((url) => pattern.exec(url)?.[1]).find((found) => found !== undefined);
      const ours = first(/^(?!.*\/node_modules\/).*\/((?:packages|services)\/[^/]+)\//);
      return [id, ours ?? first(/\/(node_modules\/(?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/) ?? 'Node'];
    }),
  );
}

function add(totals: Map<string, number>, name: string, us: number): void {
  totals.set(name, (totals.get(name) ?? 0) + us);
}

function sharesOf(totals: ReadonlyMap<string, number>, busyUs: number): readonly Share[] {
  return [...totals]
    .map(([name, us]) => ({ name, share: us / busyUs }))
    .toSorted((left, right) => right.share - left.share);
}

function functionOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  if (!url) return name;
  const place = url.replace(/^.*\/(?=(?:packages|services|node_modules)\/)/, '').replace(/^file:\/\//, '');
  return `${name} ${place}:${lineNumber + 1}`;
}
