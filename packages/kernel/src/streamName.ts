import type { Environment } from './environment.ts';

export interface StreamNameParts {
  readonly category: string;
  readonly environment: Environment;
  readonly owner: string;
  readonly id: string;
}

/**
 * The owner that a category requires: an app or a scope. Other categories may have either: moves do, and a category
 * that this release does not know belongs to a later one, whose events count here as well.
 */
const OWNERS: ReadonlyMap<string, string> = new Map([
  ['account', 'app'],
  ['operatorWallet', 'app'],
  ['playSession', 'app'],
  ['identity', 'scp'],
  ['user', 'scp'],
  ['wallet', 'scp'],
]);

/** An owner is one of our ids. The part of an id that callers choose is restricted to these characters. */
const NAME = /^([A-Za-z]+)-(test|live)\.((app|scp)_[0-7][0-9a-hjkmnp-tv-z]{25})\.([A-Za-z0-9._:-]+)$/;

/**
 * `<category>-<environment>.<owner>.<id>`: the owner is the scope for users, identities and wallets, otherwise the app.
 * Every part is one of our ids or in a caller's restricted character set, so the name is unambiguous.
 */
export function streamName(category: string, environment: Environment, owner: string, id: string): string {
  return `${category}-${environment}.${owner}.${id}`;
}

/** Readers of the log ask for the names of a page again and again. To remember more takes memory, and saves a microsecond a name. */
const known = new Map<string, StreamNameParts | undefined>();
const MOST_KNOWN = 2_000;

/** The parts of one of our stream names, or undefined for any other name. */
export function parseStreamName(name: string): StreamNameParts | undefined {
  const parts = known.get(name);
  if (parts !== undefined || known.has(name)) return parts;
  if (known.size >= MOST_KNOWN) known.clear();
  const parsed = parse(name);
  known.set(name, parsed);
  return parsed;
}

function parse(name: string): StreamNameParts | undefined {
  const match = NAME.exec(name);
  if (!match) return undefined;
  const [, category = '', environment, owner = '', prefix, id = ''] = match;
  if ((OWNERS.get(category) ?? prefix) !== prefix) return undefined;
  return { category, environment: environment === 'live' ? 'live' : 'test', owner, id };
}

/**
 * Whether a stream is ours: a server may be shared, and a stream is ours only if its whole name parses. Which names do
 * is fixed for ever, since the count of the log's events depends on it.
 */
export const isOurStream = (name: string): boolean => parseStreamName(name) !== undefined;
