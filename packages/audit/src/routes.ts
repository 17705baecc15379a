/** Requests of operators and auditors about the log as a whole. */
import type { Queryable } from '@coffer/database';
import type { KeptSnapshots } from '@coffer/event-store';
import { type Endpoint, endpoint, longTask, type TaskResult, taskLine } from '@coffer/http';
import { type Environment, environment } from '@coffer/kernel';
import { z } from 'zod';
import type { ChainHead } from './blocks.ts';
import { auditErrors, reject } from './errors.ts';
import { createKeptChain } from './keptChain.ts';
import type { StreamRules } from './streamRules.ts';
import {
  type VerificationProgress,
  type VerificationReport,
  type VerifiedLog,
  verifyExtension,
  verifyLog,
} from './verifyLog.ts';

export interface AuditDependencies {
  readonly db: Queryable;
  readonly store: VerifiedLog;
  readonly rules: readonly StreamRules[];
  readonly snapshots: KeptSnapshots | undefined;
  /** Whether a stream belongs to what was requested. Throws `portal/app_not_found`. */
  readonly streamFilter: (wanted: {
    readonly environment?: Environment | undefined;
    readonly app?: string | undefined;
  }) => Promise<(stream: string) => boolean>;
}

const headBody = z.object({
  ordinal: z.int(),
  /** Hexadecimal. */
  hash: z.string(),
  /** ISO 8601: the latest time at which an event up to here was recorded. */
  recordedUntil: z.string(),
  /** Later events that are not chained yet; null if the store cannot count. */
  lagEvents: z.int().nullable(),
});

const headFigures = z.object({ ordinal: z.int(), hash: z.string() });

const fault = z.object({
  kind: z.string(),
  ordinal: z.int(),
  stream: z.string().nullable(),
  revision: z.int().nullable(),
  id: z.string().nullable(),
  reason: z.string(),
});

const findings = {
  events: z.int(),
  /** After the end of the chain: nothing is known about them yet. */
  unchained: z.int(),
  /** Carried from another store, so that only the chain has their recorded times. */
  carried: z.int(),
  /** The event whose own time and recorded time are the furthest apart. */
  furthestTimes: z
    .object({ ordinal: z.int(), id: z.string(), occurredAt: z.string(), recordedAt: z.string() })
    .nullable(),
  head: headFigures.nullable(),
  faultCount: z.int(),
  /** The first faults, in the order of the log. */
  faults: z.array(fault),
};
const refused = { ok: z.literal(false), code: z.string(), message: z.string() };
const logResult = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), ...findings }),
  z.object({ ...refused, ...findings }),
]);
const extension = { since: z.int(), extends: z.boolean() };
const extensionResult = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), ...extension, ...findings }),
  z.object({ ...refused, ...extension, ...findings }),
]);

const LONG_TASK =
  'JSON lines: any number of `progress`, then exactly one `result`. An answer without a result was cut off. A result that is not `ok` carries the code of an error.';

export const auditEndpoints = ({
  db,
  store,
  rules,
  snapshots,
  streamFilter,
}: AuditDependencies): readonly Endpoint[] => {
  const chain = createKeptChain(db);
  return [
    endpoint({
      method: 'GET',
      path: '/portal/audit/head',
      credential: 'operator',
      summary: 'The end of the hash chain over the log, for an auditor to keep',
      links: {
        'GET /portal/audit/verification': { since: '$response.body#/ordinal', hash: '$response.body#/hash' },
      },
      success: { status: 200, schema: headBody },
      errors: ['audit/nothing_chained'],
      handle: async () => {
        const head = await chain.head();
        if (!head) throw reject('audit/nothing_chained');
        const end = await store.head();
        const position = store.parsePosition(head.place.position);
        const lagEvents = position && end && store.distance(position, end.position);
        const body = {
          ...figuresOf(head),
          recordedUntil: new Date(head.recordedUntilMs).toISOString(),
          lagEvents: lagEvents ?? null,
        };
        return { status: 200, body };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/portal/audit/verification',
      credential: 'operator',
      summary: 'Prove that the log still extends a head that was noted',
      description: LONG_TASK,
      query: z.strictObject({
        since: z
          .string()
          .regex(/^[1-9]\d{0,14}$/, 'must be an ordinal, from 1')
          .transform(Number)
          .meta({ example: '1' }),
        hash: z
          .string()
          .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
          .meta({ example: '0'.repeat(64) }),
      }),
      success: { status: 200, lines: true, schema: taskLine(extensionResult) },
      errors: ['audit/nothing_chained', 'audit/ordinal_beyond_chain'],
      handle: async ({ query: { since, hash }, context: { signal } }) => {
        const head = await chain.head();
        if (!head) throw reject('audit/nothing_chained');
        if (since > head.ordinal) throw reject('audit/ordinal_beyond_chain', { since, head: head.ordinal });
        const noted = { ordinal: since, hash: Buffer.from(hash, 'hex') };
        const task = verifyExtension({ store, chain, signal }, noted);
        const lines = linesOfTask(task, (report) => ({
          ...verdict(report.extends ? undefined : 'audit/chain_broken', report),
          since,
          extends: report.extends,
          ...findingsOf(report),
        }));
        return { status: 200, lines };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/portal/log/verification',
      credential: 'operator',
      summary: 'Verify the stored events: order, content, rules, chain, and snapshots',
      description: `The chain is always compared as a whole. ${LONG_TASK}`,
      query: z.strictObject({ environment: environment.optional(), app: z.string().optional() }),
      success: { status: 200, lines: true, schema: taskLine(logResult) },
      errors: ['portal/app_not_found'],
      handle: async ({ query, context: { signal } }) => {
        const isWanted = await streamFilter(query);
        const task = verifyLog({ store, chain, rules, snapshots, isWanted, signal });
        const resultOf = (report: VerificationReport) => ({
          ...verdict(undefined, report),
          ...findingsOf(report),
        });
        return { status: 200, lines: linesOfTask(task, resultOf) };
      },
    }),
  ];
};

/** A verification as the lines of a long task. It ends when its caller has disconnected. */
const linesOfTask = <Report>(
  verification: AsyncGenerator<VerificationProgress, Report>,
  resultOf: (report: Report) => TaskResult,
) =>
  longTask(async (report) => {
    for (;;) {
      const { done, value } = await verification.next();
      if (done) return resultOf(value);
      report({ stage: 'reading the log', ...value });
    }
  });

const figuresOf = ({ ordinal, hash }: ChainHead) => ({ ordinal, hash: hash.toString('hex') });

const findingsOf = ({
  head,
  events,
  unchained,
  carried,
  furthestTimes,
  faultCount,
  faults,
}: VerificationReport) => ({
  events,
  unchained,
  carried,
  furthestTimes: furthestTimes ?? null,
  head: head ? figuresOf(head) : null,
  faultCount,
  faults,
});

function verdict(code: keyof typeof auditErrors | undefined, { faultCount }: VerificationReport): TaskResult {
  const found = code ?? (faultCount > 0 ? 'audit/log_corrupt' : undefined);
  return found ? { ok: false, code: found, message: auditErrors[found].message } : { ok: true };
}
