/**
 * A play session for a snapshot or an outline, and back. Snapshots are disposable: another version of the stream type
 * ignores them.
 */
import { type EncodedState, figure, type Outline } from '@coffer/kernel';
import { z } from 'zod';
import { stored as facts } from './playSession.events.ts';
import type { KnownSession, PlaySession } from './playSession.state.ts';
import { decodeWrites, encodeWrites, outlineWrites, writesIn } from './sessionWrites.ts';

const storedWrites = z.object({
  size: z.int(),
  bodyWords: z.int(),
  remembered: z.array(z.int()),
  large: z.array(z.object({ place: z.int(), amount: figure, balance: figure })),
});

const sums = {
  revision: z.int(),
  terms: facts.SessionOpened,
  balance: figure,
  totalBet: figure,
  totalWin: figure,
};
/** In an outline, with how many of the last writes are told in full. */
const outlined = z.object({ ...sums, rows: z.int() });

const knownFacts = { ...sums, writes: storedWrites };

const stored = z.discriminatedUnion('status', [
  z.object({ status: z.literal('unknown'), revision: z.literal(-1) }),
  z.object({ status: z.literal('open'), ...knownFacts }),
  z.object({
    status: z.literal('settled'),
    ...knownFacts,
    settlement: facts.SessionSettled.pick({
      totalBet: true,
      totalWin: true,
      payout: true,
      net: true,
      settledAt: true,
    }).extend({ revision: z.int() }),
  }),
]);

/** Written by hand, because a long session is encoded while requests wait, and a schema takes several times as long. */
export function encodePlaySession(session: PlaySession): EncodedState {
  if (session.status === 'unknown') return encoded(session);
  const { bytes, ...writes } = encodeWrites(session.writes);
  const facts = {
    ...encodedSums(session),
    writes: {
      ...writes,
      remembered: [...writes.remembered],
      large: writes.large.map(({ place, amount, balance: after }) => ({
        place,
        amount: amount.toString(),
        balance: after.toString(),
      })),
    },
  };
  if (session.status === 'open') return encoded({ status: 'open', ...facts }, bytes);
  const { settlement } = session;
  return encoded(
    {
      status: 'settled',
      ...facts,
      settlement: {
        ...settlement,
        totalBet: settlement.totalBet.toString(),
        totalWin: settlement.totalWin.toString(),
        payout: settlement.payout.toString(),
        net: settlement.net.toString(),
      },
    },
    bytes,
  );
}

function encoded(facts: z.input<typeof stored>, bytes: Uint8Array = new Uint8Array()): EncodedState {
  return { facts, bytes };
}

export function decodePlaySession({ facts, bytes = new Uint8Array() }: EncodedState): PlaySession {
  const session = stored.parse(facts);
  if (session.status === 'unknown') return session;
  return { ...session, writes: decodeWrites({ ...session.writes, bytes }) };
}

const encodedSums = ({ revision, terms, balance, totalBet, totalWin }: KnownSession) => ({
  revision,
  terms: { ...terms, lockAmount: terms.lockAmount.toString() },
  balance: balance.toString(),
  totalBet: totalBet.toString(),
  totalWin: totalWin.toString(),
});

/** Where bets are won, a win is mostly on one of these. */
const ROWS_WHERE_WON = 4;

/** Only of an open session: the others rest. */
export function outlineOf(session: PlaySession): Outline | undefined {
  if (session.status !== 'open') return undefined;
  const writes = outlineWrites(session.writes, session.totalWin === 0n ? 0 : ROWS_WHERE_WON);
  if (!writes) return undefined;
  const facts: z.input<typeof outlined> = { ...encodedSums(session), rows: writes.rows };
  return { facts: JSON.stringify(facts), marks: writes.marks };
}

export function sessionIn({ facts, marks }: Outline): PlaySession {
  const { rows, ...sums } = outlined.parse(JSON.parse(facts));
  return { status: 'open', ...sums, writes: writesIn({ marks, rows }) };
}
