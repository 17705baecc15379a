/** A play session as plain JSON and back. Disposable: another version of the stream type ignores it. */
import { figure } from '@coffer/kernel';
import { z } from 'zod';
import { stored as facts } from './playSession.events.ts';
import type { PlaySession } from './playSession.state.ts';
import { decodeWrites, encodeWrites, type SessionWrites } from './sessionWrites.ts';

/** Bytes, in base64. */
const column = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));

const storedWrites = z.object({
  uuids: column,
  kinds: column,
  amounts: column,
  balances: column,
  rounds: column,
  others: column,
  rememberedBets: column,
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
export function encodePlaySession(session: PlaySession): z.input<typeof stored> {
  if (session.status === 'unknown') return session;
  const { revision, terms, balance, totalBet, totalWin } = session;
  const facts = {
    revision,
    terms: { ...terms, lockAmount: terms.lockAmount.toString() },
    balance: balance.toString(),
    totalBet: totalBet.toString(),
    totalWin: totalWin.toString(),
    writes: encodedWrites(session.writes),
  };
  if (session.status === 'open') return { status: 'open', ...facts };
  const { settlement } = session;
  return {
    status: 'settled',
    ...facts,
    settlement: {
      ...settlement,
      totalBet: settlement.totalBet.toString(),
      totalWin: settlement.totalWin.toString(),
      payout: settlement.payout.toString(),
      net: settlement.net.toString(),
    },
  };
}

function encodedWrites(writes: SessionWrites): z.input<typeof storedWrites> {
  const { large, ...columns } = encodeWrites(writes);
  return {
    uuids: textOf(columns.uuids),
    kinds: textOf(columns.kinds),
    amounts: textOf(columns.amounts),
    balances: textOf(columns.balances),
    rounds: textOf(columns.rounds),
    others: textOf(columns.others),
    rememberedBets: textOf(columns.rememberedBets),
    large: large.map(({ place, amount, balance }) => ({
      place,
      amount: amount.toString(),
      balance: balance.toString(),
    })),
  };
}

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

export function decodePlaySession(snapshot: unknown): PlaySession {
  const session = stored.parse(snapshot);
  return session.status === 'unknown' ? session : { ...session, writes: decodeWrites(session.writes) };
}
