/** Challenges, from issue to their single use. */
import { randomBytes } from 'node:crypto';
import type { Queryable } from '@coffer/database';
import type { AppPlace, Clock } from '@coffer/kernel';
import type { Challenge } from './message.ts';

/** Who a challenge was issued to; it is worthless anywhere else. */
interface ChallengeOwner {
  readonly place: Pick<AppPlace, 'appId' | 'environment'>;
  readonly publicKey: string;
}

interface StoredChallenge extends Challenge {
  readonly publicKey: string;
}

export interface Challenges {
  readonly issue: (
    owner: ChallengeOwner,
    asked: Pick<Challenge, 'domain' | 'statement' | 'uri'>,
  ) => Promise<Challenge>;
  /** Removes it, so that only one of any number of callers gets it. Undefined if unknown, used or expired. */
  readonly take: (place: ChallengeOwner['place'], nonce: string) => Promise<StoredChallenge | undefined>;
}

const LIFETIME_MS = 5 * 60_000;
/** Hexadecimal, because a nonce in this format consists of letters and digits only. 160 random bits. */
const NONCE_BYTES = 20;
/** In the form that `issue` writes: other input may be text that the database rejects. */
const NONCE = /^[0-9a-f]{40}$/;

/** How many expired rows each new one removes: more than are added, but never many at once. */
const SWEPT_AT_A_TIME = 4;

export function createChallenges(db: Queryable, clock: Clock): Challenges {
  return {
    issue: async ({ place, publicKey }, { domain, statement, uri }) => {
      const issuedAt = clock();
      const expiresAt = new Date(issuedAt.getTime() + LIFETIME_MS);
      const nonce = randomBytes(NONCE_BYTES).toString('hex');
      await db.query(
        `with expired as (
           select nonce from records.auth_siws_challenges where expires_at <= $8
            order by expires_at limit ${SWEPT_AT_A_TIME} for update skip locked
         ), swept as (
           delete from records.auth_siws_challenges where nonce in (select nonce from expired)
         )
         insert into records.auth_siws_challenges
           (nonce, app_id, environment, public_key, domain, statement, uri, issued_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [nonce, place.appId, place.environment, publicKey, domain, statement, uri, issuedAt, expiresAt],
      );
      return {
        nonce,
        domain,
        statement,
        uri,
        issuedAt: issuedAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
      };
    },

    take: async (place, nonce) => {
      if (!NONCE.test(nonce)) return undefined;
      type Row = Omit<StoredChallenge, 'issuedAt' | 'expiresAt'> & Record<'issuedAt' | 'expiresAt', Date>;
      const { rows } = await db.query<Row>(
        `delete from records.auth_siws_challenges where nonce = $1 and app_id = $2 and environment = $3
         returning nonce, domain, statement, uri, issued_at as "issuedAt", expires_at as "expiresAt",
           public_key as "publicKey"`,
        [nonce, place.appId, place.environment],
      );
      const [row] = rows;
      if (!row || row.expiresAt <= clock()) return undefined;
      return { ...row, issuedAt: row.issuedAt.toISOString(), expiresAt: row.expiresAt.toISOString() };
    },
  };
}
