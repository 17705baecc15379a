/** What an operator sees of a service: its metrics, readiness and log. */

export async function consumerMetric(url: string, name: string): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.matchAll(new RegExp(`^${name}\\{consumer="(\\w+)"\\} (\\S+)$`, 'gm'));
  return Object.fromEntries([...found].map(([, consumer = '', value]) => [consumer, Number(value)]));
}

/** Lines of the log from level `error` on. */
export function errorLines(lines: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
    .filter(({ level }) => isErrorLevel(level));
}

const isErrorLevel = (level: unknown) => level === 'error' || level === 'fatal' || Number(level) >= 50;
