/** A log line for people at a terminal: `14:03:07 INFO  ready url=http://127.0.0.1:8080/v1`, with stacks below it. */

/** A line that is not a JSON object is returned unchanged. */
export function readableLine(line: string): string {
  const entry = objectIn(line);
  if (!entry) return line;
  const { time, level, msg, err, ...fields } = entry;
  const { stack, ...errorFields } = isObject(err) ? err : { stack: err };
  const clock = String(time).slice(11, 19);
  const name = String(level).toUpperCase().padEnd(5);
  const pairs = Object.entries({ ...fields, ...errorFields }).map(
    ([key, value]) => ` ${printable(key)}=${valueText(value)}`,
  );
  const head = `${clock} ${name} ${printable(String(msg ?? ''))}${pairs.join('')}\n`;
  const below =
    stack === undefined
      ? []
      : String(stack)
          .split('\n')
          .map((text) => `    ${printable(text)}\n`);
  return head + below.join('');
}

function objectIn(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    // Shown unchanged, as a reader of the JSON would see it.
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const valueText = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? printable(value) : printable(JSON.stringify(value));

/** Text from outside may hold terminal control sequences. */
const printable = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
