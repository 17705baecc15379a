/**
 * Mail, from the transaction that queued it until it is handed over. A node leases a mail for a while; if the node
 * dies, another takes over afterwards. So a mail may be sent twice (under one id) but is never lost.
 */
import { randomUUID } from 'node:crypto';
import type { Queryable } from '@coffer/database';
import type { Clock, SecretBox } from '@coffer/kernel';
import { z } from 'zod';
import type { CodePlace } from './codes.ts';
import type { Mail } from './transport.ts';

interface QueuedMail {
  readonly place: CodePlace;
  readonly addressHash: string;
  readonly mail: Omit<Mail, 'id'>;
  /** When the mail becomes worthless. */
  readonly expiresAt: Date;
}

export interface TakenMail {
  readonly id: string;
  /** Includes this one. */
  readonly attempts: number;
  /** Throws if the installation's key has changed. */
  readonly open: () => Mail;
}

export interface Outbox {
  /** Replaces mail still queued for the address: an older code no longer works. */
  readonly put: (db: Queryable, queued: QueuedMail) => Promise<void>;
  readonly take: (limit: number) => Promise<readonly TakenMail[]>;
  readonly remove: (taken: TakenMail) => Promise<void>;
  readonly putBack: (taken: TakenMail, delayMs: number) => Promise<void>;
  /** Removes mail that expired unsent; returns how many. */
  readonly giveUp: () => Promise<number>;
}

/** Longer than the transport's timeout. */
const LEASE_MS = 60_000;

const stored = z.strictObject({
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  date: z.iso.datetime().transform((text) => new Date(text)),
});

const sealPlaceOf = (mailId: string) => JSON.stringify(['mail', mailId]);

export function createOutbox(pool: Queryable, secretBox: SecretBox, clock: Clock): Outbox {
  const inMs = (delayMs: number) => new Date(clock().getTime() + delayMs);

  return {
    put: async (db, { place, addressHash, mail, expiresAt }) => {
      const mailId = randomUUID();
      await db.query(
        `delete from records.auth_mail_outbox
          where app_id = $1 and environment = $2 and address_hash = $3`,
        [place.appId, place.environment, addressHash],
      );
      await db.query(
        `insert into records.auth_mail_outbox
           (mail_id, app_id, environment, address_hash, sealed, attempts, due_at, expires_at)
         values ($1, $2, $3, $4, $5, 0, $6, $7)`,
        [
          mailId,
          place.appId,
          place.environment,
          addressHash,
          JSON.stringify(secretBox.seal(JSON.stringify(mail), sealPlaceOf(mailId))),
          clock(),
          expiresAt,
        ],
      );
    },

    take: async (limit) => {
      const { rows } = await pool.query<{ mail_id: string; attempts: number; sealed: unknown }>(
        `update records.auth_mail_outbox set attempts = attempts + 1, due_at = $1
          where mail_id in
            (select mail_id from records.auth_mail_outbox where due_at <= $2 and expires_at > $2
              order by due_at limit $3 for update skip locked)
          returning mail_id, attempts, sealed`,
        [inMs(LEASE_MS), clock(), limit],
      );
      return rows.map(({ mail_id: id, attempts, sealed }) => ({
        id,
        attempts,
        open: () => ({ id, ...stored.parse(JSON.parse(secretBox.open(sealed, sealPlaceOf(id)))) }),
      }));
    },

    remove: async ({ id }) => {
      await pool.query('delete from records.auth_mail_outbox where mail_id = $1', [id]);
    },

    putBack: async ({ id, attempts }, delayMs) => {
      // If the lease expired and another node has the mail, that node decides.
      await pool.query(
        'update records.auth_mail_outbox set due_at = $3 where mail_id = $1 and attempts = $2',
        [id, attempts, inMs(delayMs)],
      );
    },

    giveUp: async () => {
      const { rowCount } = await pool.query(
        `delete from records.auth_mail_outbox where mail_id in
           (select mail_id from records.auth_mail_outbox where expires_at <= $1 limit 100 for update skip locked)`,
        [clock()],
      );
      return rowCount ?? 0;
    },
  };
}
