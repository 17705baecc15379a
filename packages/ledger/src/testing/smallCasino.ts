/** The small casino of the random histories: few players, currencies and sessions, so that all of them meet. */
import { idFromParts } from '@coffer/kernel';
import type { Place, Run } from './attempts.ts';
import { type Explained, explain } from './history.ts';

export const USERS = ['usr_00000000000000000000000001', 'usr_00000000000000000000000002'] as const;
export const CURRENCIES = [
  { id: 1, code: 'SOL' },
  { id: 2, code: 'CHIP' },
] as const;

const appId = idFromParts('app', 'small casino');
export const PLACE: Place = { name: `test.${appId}`, appId, environment: 'test' };

/** The session that an open under this uuid leads to. */
export const sessionIdOf = (transactionUuid: string): string =>
  idFromParts('ses', 'playSession', PLACE.environment, PLACE.appId, transactionUuid);

/** Explains a run of this casino as one order according to the rules. Throws if there is none. */
export const explainCasino = (run: Pick<Run, 'events' | 'attempts'>): Explained =>
  explain({ ...run, places: [PLACE], users: USERS, currencies: CURRENCIES });
