/** Reads what `node --cpu-prof` writes. */

/** The part of the format that is used here. Times are microseconds of the machine's monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly startTime: number;
  /** The node on top of the stack at each sample. */
  readonly samples: readonly number[];
  /** From each sample to the one before it. */
  readonly timeDeltas: readonly number[];
}

export interface SelfTimes {
  /** By falling share of the time in which the thread was not idle. */
  readonly functions: readonly { readonly name: string; readonly share: number }[];
  readonly idleShare: number;
}

const IDLE = '(idle)';

/** Where the time between two moments went, by function, without what each called. */
export function selfTimes(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  fromUs: number,
  toUs: number,
): SelfTimes {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const totals = new Map<string, number>();
  let atUs = startTime;
  let totalUs = 0;
  for (const [index, nodeId] of samples.entries()) {
    const deltaUs = timeDeltas[index] ?? 0;
    atUs += deltaUs;
    if (atUs < fromUs || atUs > toUs) continue;
    const name = names.get(nodeId) ?? '(unknown)';
    totals.set(name, (totals.get(name) ?? 0) + deltaUs);
    totalUs += deltaUs;
  }
  if (totalUs === 0) throw new Error('The profile has no sample of that time.');
  const idleUs = totals.get(IDLE) ?? 0;
  totals.delete(IDLE);
  const functions = [...totals]
    .map(([name, us]) => ({ name, share: us / (totalUs - idleUs) }))
    .toSorted((left, right) => right.share - left.share);
  return { functions, idleShare: idleUs / totalUs };
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  if (!url) return name;
  const place = url.replace(/^.*\/(?=(?:packages|services|node_modules)\/)/, '').replace(/^file:\/\//, '');
  return `${name} ${place}:${lineNumber + 1}`;
}
