/** A play session as plain JSON and back. Disposable: another version of the stream type ignores it. */
import { figure, signedFigure } from '@coffer/kernel';
import { Map as PersistentMap, Set as PersistentSet } from 'immutable';
import { z } from 'zod';
import type { PlaySession, Transaction } from './playSession.state.ts';

const common = { uuid: z.string(), revision: z.int() };
const roundId = z.string().optional();

const storedTransaction = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('bet'),
    ...common,
    amount: figure,
    roundId,
    balance: figure,
    fate: z.enum(['open', 'won', 'rolledBack']),
  }),
  z.object({
    kind: z.literal('win'),
    ...common,
    betTransactionUuid: z.string(),
    amount: figure,
    roundId,
    balance: figure,
  }),
  z.object({
    kind: z.literal('rollback'),
    ...common,
    betTransactionUuid: z.string(),
    amount: figure,
    balance: figure,
    late: z.boolean(),
  }),
  z.object({
    kind: z.literal('rememberedRollback'),
    ...common,
    betTransactionUuid: z.string(),
    balance: figure,
  }),
  z.object({ kind: z.literal('settle'), ...common }),
]);

const knownFacts = {
  revision: z.int(),
  terms: z.object({
    sessionId: z.string(),
    userId: z.string(),
    gameCode: z.string(),
    currency: z.string(),
    currencyId: z.int(),
    lockAmount: figure,
    transactionUuid: z.string().optional(),
    openedAt: z.string(),
  }),
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
    settlement: z.object({
      totalBet: figure,
      totalWin: figure,
      payout: figure,
      net: signedFigure,
      settledAt: z.string(),
      revision: z.int(),
    }),
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
    transactions: Array.from(session.transactions, ([uuid, transaction]) =>
      encodeTransaction(uuid, transaction),
    ),
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

function encodeTransaction(uuid: string, transaction: Transaction): z.input<typeof storedTransaction> {
  switch (transaction.kind) {
    case 'bet':
    case 'win':
    case 'rollback':
      return {
        uuid,
        ...transaction,
        amount: transaction.amount.toString(),
        balance: transaction.balance.toString(),
      };
    case 'rememberedRollback':
      return { uuid, ...transaction, balance: transaction.balance.toString() };
    case 'settle':
      return { uuid, ...transaction };
  }
}

export function decodePlaySession(snapshot: unknown): PlaySession {
  const session = stored.parse(snapshot);
  if (session.status === 'unknown') return session;
  return {
    ...session,
    transactions: PersistentMap(session.transactions.map(transactionEntry)),
    rememberedBets: PersistentSet(session.rememberedBets),
  };
}

function transactionEntry({
  uuid,
  ...transaction
}: z.output<typeof storedTransaction>): readonly [string, Transaction] {
  // An absent round is absent in JSON and undefined in the state, where every bet has the same shape.
  if (transaction.kind === 'bet' || transaction.kind === 'win') {
    return [uuid, { ...transaction, roundId: transaction.roundId }];
  }
  return [uuid, transaction];
}
