/**
 * The README's tour: its shell blocks, and what each prints in the text block after it. It is executed, so it
 * shows what a reader who copies and pastes will see.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const TOUR = /(?<=\n## Five minutes[^\n]*\n)[\s\S]*?(?=\n## Where)/;
const STEP = /```sh\n([\s\S]*?)```\n(?:\n```text\n([\s\S]*?)```\n)?/g;
/** Printed between the steps; no answer contains it. */
const SEPARATOR = '\u001e';

export function tourSteps(readme: string): readonly string[] {
  const tour = TOUR.exec(readme)?.[0] ?? '';
  return [...tour.matchAll(STEP)].map(([, commands = '']) => commands);
}

/** The README with these outputs, one per step. */
export function withOutputs(readme: string, outputs: readonly string[]): string {
  return readme.replace(TOUR, (tour) => {
    let step = 0;
    return tour.replace(STEP, (_, commands: string) => {
      const output = outputs[step++] ?? '';
      const shown = output.trim() === '' ? '' : `\n\`\`\`text\n${output.trimEnd()}\n\`\`\`\n`;
      return `\`\`\`sh\n${commands}\`\`\`\n${shown}`;
    });
  });
}

/** The only things that may differ from run to run: ids, signatures, addresses, slots, times. */
export function withoutChance(text: string): string {
  return text
    .replace(/\b(app|usr|wlt|ses|mov|key)_[0-9a-z]{26}\b/g, '$1_…')
    .replace(/\b[1-9A-HJ-NP-Za-km-z]{80,88}\b/g, '<signature>')
    .replace(/\b[1-9A-HJ-NP-Za-km-z]{32,44}\b/g, '<address>')
    .replace(/"slot":\d+/g, '"slot":<slot>')
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');
}

/**
 * Runs the steps in one shell, as a reader does, in a folder with the service's data folder as `.data`.
 * Standard error is shown as well.
 */
export async function runTour(
  steps: readonly string[],
  folder: string,
  variables: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const bin = join(import.meta.dirname, '../../node_modules/.bin');
  const script = ['exec 2>&1', 'npx() { "$@"; }', ...steps.map((step) => `${step}printf '\\x1e'`)].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], {
    cwd: folder,
    env: { ...process.env, ...variables, PATH: `${bin}:${process.env.PATH}` },
  });
  return stdout.split(SEPARATOR).slice(0, steps.length);
}
