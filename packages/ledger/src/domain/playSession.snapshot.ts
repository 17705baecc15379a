/** A play session as plain JSON and back. Disposable: another version of the stream type ignores it. */
import { figure } from '@coffer/kernel';
import { Map as PersistentMap, Set as PersistentSet } from 'immutable';
import { z } from 'zod';
import { stored as facts } from './playSession.events.ts';
import type { PlaySession, Transaction } from './playSession.state.ts';

const kept = { revision: z.int() };

const storedTransaction = z.discriminatedUnion('kind', [
  facts.BetPlaced.extend({ kind: z.literal('bet'), ...kept, fate: z.enum(['open', 'won', 'rolledBack']) }),
  facts.WinCredited.extend({ kind: z.literal('win'), ...kept }),
  facts.BetRolledBack.extend({ kind: z.literal('rollback'), ...kept }),
  facts.RollbackRemembered.extend({ kind: z.literal('rememberedRollback'), ...kept }),
  z.object({ kind: z.literal('settle'), transactionUuid: z.string(), ...kept }),
]);

const knownFacts = {
  revision: z.int(),
  terms: facts.SessionOpened,
  balance: figure,
  totalBet: figure,
  totalWin: figure,
  transactions: z.array(storedTransaction),
  rememberedBets: z.array(z.string()),
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

/** Written out, because a long session is encoded while requests wait, and a schema takes several times as long. */
export function encodePlaySession(session: PlaySession): z.input<typeof stored> {
  if (session.status === 'unknown') return session;
  const { revision, terms, balance, totalBet, totalWin } = session;
  const facts = {
    revision,
    terms: { ...terms, lockAmount: terms.lockAmount.toString() },
    balance: balance.toString(),
    totalBet: totalBet.toString(),
    totalWin: totalWin.toString(),
    transactions: Array.from(session.transactions.values(), encodeTransaction),
    rememberedBets: [...session.rememberedBets],
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

function encodeTransaction(transaction: Transaction): z.input<typeof storedTransaction> {
  switch (transaction.kind) {
    case 'bet':
    case 'win':
    case 'rollback':
      return {
        ...transaction,
        amount: transaction.amount.toString(),
        balance: transaction.balance.toString(),
      };
    case 'rememberedRollback':
      return { ...transaction, balance: transaction.balance.toString() };
    case 'settle':
      return transaction;
  }
}

export function decodePlaySession(snapshot: unknown): PlaySession {
  const session = stored.parse(snapshot);
  if (session.status === 'unknown') return session;
  return {
    ...session,
    transactions: PersistentMap(session.transactions.map((kept) => [kept.transactionUuid, kept])),
    rememberedBets: PersistentSet(session.rememberedBets),
  };
}
