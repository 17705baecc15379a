/**
 * One-time codes: one live code per address, a new one replacing the old. Only an HMAC is stored, so a copy of
 * the database reveals neither codes nor addresses. Source: contract, Sign-in and sessions.
 */
import { randomInt, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '@coffer/database';
import { httpErrors } from '@coffer/http';
import { type AppPlace, type Clock, rejecterFor } from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type KeyedHash, keyedHash } from '../keys.ts';

const LIFETIME_MS = 5 * 60_000;
const ATTEMPTS = 5;
const SENDS_AN_HOUR = 5;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** How many obsolete rows each issue removes: more than it adds, but never many at once. */
const SWEPT_AT_A_TIME = 4;

export type CodePlace = Pick<AppPlace, 'appId' | 'environment'>;

interface IssuedCode {
  /** Six digits. */
  readonly code: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

export interface Codes {
  readonly hashOf: (place: CodePlace, address: string) => string;
  /** In the transaction that queues the mail. Throws `request/rate_limited`; the previous code then stays valid. */
  readonly issue: (db: Queryable, place: CodePlace, addressHash: string) => Promise<IssuedCode>;
  /** Counts the attempt before checking. Throws `auth/code_invalid` for any failure; a correct code works once. */
  readonly use: (db: Queryable, place: CodePlace, addressHash: string, code: string) => Promise<void>;
  /** Removes a few rows of addresses that may be mailed again anyway. */
  readonly sweep: (db: Queryable) => Promise<void>;
}

const rejectRequest = rejecterFor(httpErrors);

export function createCodes(secretsKey: Uint8Array, clock: Clock): Codes {
  const hashAddress = keyedHash(secretsKey, 'email address');
  const hashCode = keyedHash(secretsKey, 'email code');

  return {
    hashOf: ({ appId, environment }, address) => hashAddress(appId, environment, address),

    issue: async (db, place, addressHash) => {
      const issuedAt = clock();
      const expiresAt = new Date(issuedAt.getTime() + LIFETIME_MS);
      const hourAgo = new Date(issuedAt.getTime() - HOUR_MS);
      const minuteAgo = new Date(issuedAt.getTime() - MINUTE_MS);
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      const codeId = randomUUID();
      const { rowCount } = await db.query(
        `insert into records.auth_email_codes as kept
           (app_id, environment, address_hash, code_id, code_hmac, attempts_left, expires_at, sent_at)
         values ($1, $2, $3, $4, $5, ${ATTEMPTS}, $6, array[$7::timestamptz])
         on conflict (app_id, environment, address_hash) do update
            set code_id = excluded.code_id, code_hmac = excluded.code_hmac,
                attempts_left = excluded.attempts_left, expires_at = excluded.expires_at,
                sent_at = array(select sent from unnest(kept.sent_at) sent where sent > $8 order by sent)
                          || excluded.sent_at
          where not exists (select from unnest(kept.sent_at) sent where sent > $9)
            and (select count(*) from unnest(kept.sent_at) sent where sent > $8) < ${SENDS_AN_HOUR}`,
        [
          ...keyOf(place, addressHash),
          codeId,
          hashCode(...keyOf(place, addressHash), codeId, code),
          expiresAt,
          issuedAt,
          hourAgo,
          minuteAgo,
        ],
      );
      if (rowCount === 0) {
        const retryAfterSeconds = await secondsToNextSend(db, place, addressHash, issuedAt);
        throw rejectRequest('request/rate_limited', { retryAfterSeconds });
      }
      return { code, issuedAt, expiresAt };
    },

    use: async (db, place, addressHash, code) => {
      // The statement that reads the code also consumes the attempt: parallel guesses cannot share one.
      const { rows } = await db.query<{ code_id: string; code_hmac: string }>(
        `update records.auth_email_codes set attempts_left = attempts_left - 1
          where app_id = $1 and environment = $2 and address_hash = $3
            and code_hmac is not null and attempts_left > 0 and expires_at > $4
          returning code_id, code_hmac`,
        [...keyOf(place, addressHash), clock()],
      );
      const kept = rows[0];
      // Without a live code the same work is done, comparing with a value that no code has.
      const { code_id: codeId, code_hmac: expected } = kept ?? NO_CODE;
      const given = hashCode(...keyOf(place, addressHash), codeId, code);
      if (!isSame(given, expected) || !kept) throw reject('auth/code_invalid');

      // Of two simultaneous attempts with the correct code, only one finds it still there.
      const { rowCount } = await db.query(
        `update records.auth_email_codes set code_hmac = null
          where app_id = $1 and environment = $2 and address_hash = $3
            and code_id = $4 and code_hmac is not null`,
        [...keyOf(place, addressHash), codeId],
      );
      if (rowCount !== 1) throw reject('auth/code_invalid');
    },

    sweep: async (db) => {
      await db.query(
        `delete from records.auth_email_codes where (app_id, environment, address_hash) in
           (select app_id, environment, address_hash from records.auth_email_codes where expires_at < $1
             order by expires_at limit ${SWEPT_AT_A_TIME} for update skip locked)`,
        [new Date(clock().getTime() - HOUR_MS)],
      );
    },
  };
}

const NO_CODE = { code_id: '00000000-0000-0000-0000-000000000000', code_hmac: '0'.repeat(64) };

const keyOf = ({ appId, environment }: CodePlace, addressHash: string): [string, string, string] => [
  appId,
  environment,
  addressHash,
];

/** Both come from the same `KeyedHash`, so they have the same length. */
function isSame(left: ReturnType<KeyedHash>, right: ReturnType<KeyedHash>): boolean {
  return timingSafeEqual(Buffer.from(left, 'hex'), Buffer.from(right, 'hex'));
}

async function secondsToNextSend(
  db: Queryable,
  place: CodePlace,
  addressHash: string,
  now: Date,
): Promise<number> {
  const { rows } = await db.query<{ sent_at: Date[] }>(
    `select sent_at from records.auth_email_codes
      where app_id = $1 and environment = $2 and address_hash = $3`,
    keyOf(place, addressHash),
  );
  const sentMs = (rows[0]?.sent_at ?? []).map((sent) => sent.getTime());
  const afterMinuteMs = (sentMs.at(-1) ?? 0) + MINUTE_MS;
  const afterHourMs = (sentMs.at(-SENDS_AN_HOUR) ?? 0) + HOUR_MS;
  return Math.max(1, Math.ceil((Math.max(afterMinuteMs, afterHourMs) - now.getTime()) / 1000));
}
