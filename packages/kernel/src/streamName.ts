import type { Environment } from './environment.ts';

/**
 * `<category>-<environment>.<owner>.<id>`: the owner is the scope for users, identities and wallets, else
 * the app. Every part is one of our ids or of a caller's restricted charset, so the name is unambiguous.
 */
export function streamName(category: string, environment: Environment, owner: string, id: string): string {
  return `${category}-${environment}.${owner}.${id}`;
}

export interface StreamNameParts {
  readonly category: string;
  readonly environment: Environment;
  readonly owner: string;
  readonly id: string;
}

const NAME = /^([A-Za-z]+)-(test|live)\.([a-z]+_[0-9a-z]{26})\.(.+)$/;

/** The parts of one of our stream names, or undefined for any other name. */
export function parseStreamName(name: string): StreamNameParts | undefined {
  const match = NAME.exec(name);
  if (!match) return undefined;
  const [, category = '', environment, owner = '', id = ''] = match;
  return { category, environment: environment === 'live' ? 'live' : 'test', owner, id };
}
