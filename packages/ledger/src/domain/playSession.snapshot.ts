/** A play session for a snapshot and back. Disposable: another version of the stream type ignores it. */
import { type EncodedState, figure } from '@coffer/kernel';
import { z } from 'zod';
import { stored as facts } from './playSession.events.ts';
import type { PlaySession } from './playSession.state.ts';
import { decodeWrites, encodeWrites } from './sessionWrites.ts';

const storedWrites = z.object({
  size: z.int(),
  bodyWords: z.int(),
  remembered: z.array(z.int()),
  large: z.array(z.object({ place: z.int(), amount: figure, balance: figure })),
});

const knownFacts = {
  revision: z.int(),
  terms: facts.SessionOpened,
  balance: figure,
  totalBet: figure,
  totalWin: figure,
  writes: storedWrites,
};

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
  const { revision, terms, balance, totalBet, totalWin } = session;
  const { bytes, ...writes } = encodeWrites(session.writes);
  const facts = {
    revision,
    terms: { ...terms, lockAmount: terms.lockAmount.toString() },
    balance: balance.toString(),
    totalBet: totalBet.toString(),
    totalWin: totalWin.toString(),
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
