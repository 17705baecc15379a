import type { Environment } from './environment.ts';

export interface StreamNameParts {
  readonly category: string;
  readonly environment: Environment;
  readonly owner: string;
  readonly id: string;
}

/**
 * Whose streams of a category are: an app's or a scope's. Of any other category they may be of either: moves are, and
 * one that this release does not know is that of a later one, whose events count here as well.
 */
const OWNERS: ReadonlyMap<string, string> = new Map([
  ['account', 'app'],
  ['operatorWallet', 'app'],
  ['playSession', 'app'],
  ['identity', 'scp'],
  ['user', 'scp'],
  ['wallet', 'scp'],
]);

/** An owner is one of our ids. What callers choose of an id is restricted to these characters; the rest is ours. */
const NAME = /^([A-Za-z]+)-(test|live)\.((app|scp)_[0-7][0-9a-hjkmnp-tv-z]{25})\.([A-Za-z0-9._:-]+)$/;

/**
 * `<category>-<environment>.<owner>.<id>`: the owner is the scope for users, identities and wallets, else
 * the app. Every part is one of our ids or of a caller's restricted charset, so the name is unambiguous.
 */
export function streamName(category: string, environment: Environment, owner: string, id: string): string {
  return `${category}-${environment}.${owner}.${id}`;
}

/** The parts of one of our stream names, or undefined for any other name. */
export function parseStreamName(name: string): StreamNameParts | undefined {
  const match = NAME.exec(name);
  if (!match) return undefined;
  const [, category = '', environment, owner = '', prefix, id = ''] = match;
  if ((OWNERS.get(category) ?? prefix) !== prefix) return undefined;
  return { category, environment: environment === 'live' ? 'live' : 'test', owner, id };
}

/**
 * Whether the events of a stream are ours: a server may be shared, and a stream is ours only if its whole name parses.
 * Which names do is for ever, since the events of the log are counted by it.
 */
export const isOurStream = (name: string): boolean => parseStreamName(name) !== undefined;
