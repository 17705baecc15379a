import type { Environment } from './environment.ts';

export interface StreamNameParts {
  readonly category: string;
  readonly environment: Environment;
  readonly owner: string;
  readonly id: string;
}

/**
 * An owner is one of our ids: an app's or a scope's. Some categories require one of the two. Others may have either: moves do, and a
 * category that this release does not know belongs to a later one, whose events count here as well. The part of an id that
 * callers choose is restricted to these characters.
 */
const NAME =
  /^(?!(?:account|operatorWallet|playSession)-[a-z]+\.scp_|(?:identity|user|wallet)-[a-z]+\.app_)([A-Za-z]+)-(test|live)\.((?:app|scp)_[0-7][0-9a-hjkmnp-tv-z]{25})\.([A-Za-z0-9._:-]+)$/;

/**
 * `<category>-<environment>.<owner>.<id>`: the owner is the scope for users, identities and wallets, otherwise the app.
 * Every part is one of our ids or in a caller's restricted character set, so the name is unambiguous.
 */
export function streamName(category: string, environment: Environment, owner: string, id: string): string {
  return `${category}-${environment}.${owner}.${id}`;
}

/**
 * The parts of one of our stream names, or undefined for any other name. None is remembered: a lookup takes as long as parsing, and what
 * is remembered for a moment becomes old garbage.
 */
export function parseStreamName(name: string): StreamNameParts | undefined {
  const match = NAME.exec(name);
  if (!match) return undefined;
  const [, category = '', environment, owner = '', id = ''] = match;
  return { category, environment: environment === 'live' ? 'live' : 'test', owner, id };
}

/**
 * Whether a stream is ours: a server may be shared, and a stream is ours only if its whole name parses. Which names do
 * is fixed for ever, since the count of the log's events depends on it.
 */
export const isOurStream = (name: string): boolean => NAME.test(name);
