/** The tables of `docs/errors.md` and `docs/events.md`: writing and reading them. */
import type { Catalogue } from './contexts.ts';

export interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

const ERROR_HEADER = '| code | status | message |\n|---|---|---|\n';

/** All entries of all catalogues, by code. */
export function errorRows(catalogues: readonly Catalogue[]): readonly ErrorRow[] {
  return catalogues
    .flatMap((entries) => Object.entries(entries).map(([code, entry]) => ({ code, ...entry })))
    .sort((left, right) => (left.code < right.code ? -1 : 1));
}

/** The page with its table replaced; what is above the table stays. */
export function withErrorTable(page: string, rows: readonly ErrorRow[]): string {
  const start = page.indexOf(ERROR_HEADER);
  if (start < 0) throw new Error('docs/errors.md has no table "| code | status | message |".');
  // In a table, a bar in a message would begin another cell.
  const line = ({ code, status, message }: ErrorRow) =>
    `| \`${code}\` | ${status} | ${message.replaceAll('|', '\\|')} |\n`;
  return page.slice(0, start) + ERROR_HEADER + rows.map(line).join('');
}

export function readErrorTable(page: string): readonly ErrorRow[] {
  return [...page.matchAll(/^\| `([^`]+)` \| (\d{3}) \| (.+) \|$/gm)].map(
    ([, code = '', status = '', message = '']) => ({
      code,
      status: Number(status),
      message: message.replaceAll('\\|', '|'),
    }),
  );
}

export interface EventRow {
  readonly category: string;
  readonly type: string;
  readonly required: readonly string[];
  /** Marked with a question mark. */
  readonly optional: readonly string[];
}

/** The rows `| event | fields | postings |` below each heading "## `category`". */
export function readEventTables(page: string): readonly EventRow[] {
  return page.split(/^## /m).flatMap((section) => {
    const category = /^`(\w+)`/.exec(section)?.[1];
    if (!category) return [];
    return [...section.matchAll(/^\| `(\w+)` \|(.*?)\| .+ \|$/gm)].map(([, type = '', cell = '']) => {
      const fields = [...cell.matchAll(/`(\w+)(\??)`/g)];
      return {
        category,
        type,
        required: fields.filter(([, , mark]) => !mark).map(([, name = '']) => name),
        optional: fields.filter(([, , mark]) => mark).map(([, name = '']) => name),
      };
    });
  });
}
