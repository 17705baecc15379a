/** The shape of a report. Source: contract, Ledger, GET /ledger/reconcile. */
import { currencyTotals } from '@coffer/accounts';
import { z } from 'zod';

const _figure = z.string().meta({ description: 'Base units, signed: the seven of a currency sum to zero.' });

export const reconcileReport = z.object({
  ok: z.boolean(),
  environment: z.enum(['test', 'live']),
  position: z.string().meta({ description: 'The place in the log that everything was compared at.' }),
  checkedAt: z.string().meta({ description: 'ISO 8601 UTC with milliseconds.' }),
  mode: z.enum(['full', 'incremental']),
  verifiedFrom: z
    .string()
    .nullable()
    .meta({ description: 'The place from which an incremental run went on; null for a full one.' }),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), examined: z.int() })),
  inFlight: z
    .array(z.object({ reaction: z.string(), subject: z.string() }))
    .meta({ description: 'Decided, and on its way to the account.' }),
  warnings: z.array(
    z.object({
      code: z.string(),
      subject: z.string(),
      sessions: z.array(z.string()),
      consumer: z
        .string()
        .optional()
        .meta({ description: 'Of an event that is skipped: who passes it over.' }),
      eventId: z.string().optional(),
      eventType: z.string().optional(),
      reason: z.string().optional(),
      skippedAt: z.string().optional(),
    }),
  ),
  totals: z.array(currencyTotals),
});
