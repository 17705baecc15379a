/**
 * For specs of verifications: a log in memory, its chain, and what tampering with the database makes of it.
 */
import type { EventStore, Position, RecordedEvent } from '@coffer/event-store';
import { encodeMetadata, eventCodec, figure, isOurStream, type StreamType } from '@coffer/kernel';
import { z } from 'zod';
import { type Block, blocksOf, type ChainHead } from '../blocks.ts';
import { streamRules } from '../streamRules.ts';
import type { KeptChain, VerificationReport, VerifiedLog } from '../verifyLog.ts';

/** A stream whose events record the resulting balance, as accounts do. */
const codec = eventCodec({
  CoinAdded: { data: z.object({ amount: figure, balance: figure }) },
});
export const jar: StreamType<
  never,
  { type: 'CoinAdded'; data: { amount: bigint; balance: bigint } },
  bigint,
  never
> = {
  category: 'jar',
  version: 1,
  codec,
  initialState: 0n,
  decide: (_state, command) => command,
  evolve: (balance, { data }) => {
    if (data.balance !== balance + data.amount) throw new Error('the balance does not follow');
    return data.balance;
  },
  sizeOf: () => 100,
};
export const rules = [streamRules(jar)];

export const OWNER = 'app_01jee1wzwqeh1rx3w2d3k4m5n6';
export const nameOf = (jarNumber: number) => `jar-test.${OWNER}.${jarNumber}`;
export const METADATA = encodeMetadata(
  { correlationId: 'r', actor: 'operator', occurredAt: '2026-01-31T12:00:00.000Z' },
  1,
);
export const at = (position: number) => `${position}` as Position;

/** A log as the service writes it: one coin into each of these jars, in turn. */
export function logOf(jars: readonly number[]): readonly RecordedEvent[] {
  const sizes = new Map<number, number>();
  return jars.map((jarNumber, index): RecordedEvent => {
    const revision = sizes.get(jarNumber) ?? 0;
    sizes.set(jarNumber, revision + 1);
    return {
      id: `00000000-0000-4000-8000-${`${index + 1}`.padStart(12, '0')}`,
      stream: nameOf(jarNumber),
      revision,
      type: 'CoinAdded',
      data: JSON.stringify({ amount: '1', balance: `${revision + 1}` }),
      metadata: METADATA,
      position: at(index + 1),
      recordedAt: new Date(Date.UTC(2026, 0, 31) + index * 1_000),
    };
  });
}

/** Events of another user of the server. */
export const ofOthers = (count: number): readonly RecordedEvent[] =>
  logOf(Array.from({ length: count }, () => 1)).map((event) => ({
    ...event,
    id: event.id.replace('00000000', 'ffffffff'),
    stream: 'jar-1',
    data: 'no JSON',
  }));

/** In any arrangement, as only somebody with write access to the database could produce it. */
export function storeOf(events: readonly RecordedEvent[]): VerifiedLog {
  const inOrder = events.toSorted((left, right) => Number(left.position) - Number(right.position));
  async function* pages(found: readonly RecordedEvent[]) {
    for (let start = 0; start < found.length; start += 1_000) yield found.slice(start, start + 1_000);
  }
  const readStream: EventStore['readStream'] = (stream, options = {}) => {
    const { direction = 'forwards', fromRevision, limit } = options;
    const all = events
      .filter((event) => event.stream === stream)
      .toSorted((left, right) => left.revision - right.revision);
    const found =
      direction === 'forwards'
        ? all.filter(({ revision }) => revision >= (fromRevision ?? 0))
        : all.filter(({ revision }) => revision <= (fromRevision ?? Infinity)).reverse();
    return pages(found.slice(0, limit));
  };
  const after = (from?: Position) => inOrder.filter(({ position }) => Number(position) > Number(from ?? 0));
  return {
    readAll: ({ from } = {}) => pages(after(from).filter(({ stream }) => isOurStream(stream))),
    whole: { readAll: ({ from } = {}) => pages(after(from)) },
    readStream,
    heads: async (streams) =>
      streams.map((stream) => {
        const last = events
          .filter((event) => event.stream === stream)
          .toSorted((left, right) => left.revision - right.revision)
          .at(-1);
        return last && { revision: last.revision, eventId: last.id };
      }),
    head: async () => {
      const last = inOrder.at(-1);
      return last && { position: last.position, eventId: last.id };
    },
    comparePositions: (left, right) => Number(left) - Number(right),
    parsePosition: (text) => (/^\d+$/.test(text) ? (text as Position) : undefined),
    distance: (from, to) => Number(to) - Number(from ?? 0),
  };
}

export function chainOf(blocks: readonly Block[], carriedUntil = 0): KeptChain {
  const last = blocks.at(-1);
  const lastEntry = last?.entries.at(-1);
  const head: ChainHead | undefined = last &&
    lastEntry && {
      ordinal: last.lastOrdinal,
      hash: last.hashAfter,
      place: { position: last.lastPosition, eventId: lastEntry.id },
      recordedUntilMs: last.recordedUntilMs,
    };
  return {
    head: async () => head,
    async *blocks(upTo, behind = 0) {
      yield* blocks.filter(({ lastOrdinal }) => lastOrdinal > behind && lastOrdinal <= upTo);
    },
    carriedUntil: async () => carriedUntil,
    brokenEnd: async () => undefined,
  };
}

/** As a block comes from the database. */
export const asStored = (block: Block): Block => ({
  ...block,
  columns: {
    count: block.entries.length,
    ids: block.entries.map(({ id }) => id.replaceAll('-', '')).join(''),
    hashes: Buffer.concat(block.entries.map(({ hash }) => hash)),
    streams: block.entries.map(({ stream }) => stream),
    revisions: block.entries.map(({ revision }) => revision),
    recordedMs: block.entries.map(({ recordedAtMs }) => recordedAtMs),
  },
});

/** Blocks of this many events. */
export function chained(events: readonly RecordedEvent[], blockEvents = 3): readonly Block[] {
  const blocks: Block[] = [];
  for (let start = 0; start < events.length; start += blockEvents) {
    const last = blocks.at(-1);
    const entry = last?.entries.at(-1);
    const head = last &&
      entry && {
        ordinal: last.lastOrdinal,
        hash: last.hashAfter,
        place: { position: last.lastPosition, eventId: entry.id },
        recordedUntilMs: last.recordedUntilMs,
      };
    blocks.push(...blocksOf(head, events.slice(start, start + blockEvents)));
  }
  return blocks;
}

export async function reportOf<Report>(verification: AsyncGenerator<unknown, Report>): Promise<Report> {
  for (;;) {
    const { done, value } = await verification.next();
    if (done) return value;
  }
}

export const brief = ({ faults }: VerificationReport) =>
  faults.map(({ kind, ordinal }) => `${kind} ${ordinal}`);
/** Only the chain's findings. */
export const ofChain = (report: VerificationReport) =>
  brief(report).filter((text) => /^(altered|misdated|missing|inserted|moved|chain_broken)/.test(text));

/** Replaces the event with this ordinal. */
export const changed = (
  events: readonly RecordedEvent[],
  ordinal: number,
  change: (event: RecordedEvent) => RecordedEvent,
) => events.map((event, index) => (index + 1 === ordinal ? change(event) : event));

export const without = (events: readonly RecordedEvent[], ordinal: number) =>
  events.toSpliced(ordinal - 1, 1);

export const FORGED_ID = 'ffffffff-ffff-4fff-bfff-ffffffffffff';

/** Inserts a copy of the previous event at this ordinal; everything after it moves on by one. */
export function withForgery(events: readonly RecordedEvent[], ordinal: number): readonly RecordedEvent[] {
  const copied = events[ordinal - 2] ?? events[0];
  if (!copied) return [];
  const forged = { ...copied, id: FORGED_ID, revision: copied.revision + 1, position: at(ordinal) };
  const moved = events
    .slice(ordinal - 1)
    .map((event) => ({ ...event, position: at(Number(event.position) + 1) }))
    .map((event) =>
      event.stream === forged.stream && event.revision >= forged.revision
        ? { ...event, revision: event.revision + 1 }
        : event,
    );
  return [...events.slice(0, ordinal - 1), forged, ...moved];
}

export function swapped(
  events: readonly RecordedEvent[],
  left: number,
  right: number,
): readonly RecordedEvent[] {
  return events.map((event, index) => {
    if (index + 1 === left) return { ...event, position: at(right) };
    if (index + 1 === right) return { ...event, position: at(left) };
    return event;
  });
}
