import { foldRow, type MoveRow } from '@coffer/read-models';
import { recordedHistory } from '@coffer/testing';
import { expect } from 'chai';
import { type MoveEvent, moveEvents } from './domain/move.events.ts';
import { movesProjection } from './moves.projection.ts';

const APP = `app_${'0'.repeat(26)}`;
const STREAM = `move-live.${APP}.mov_1`;
const timeOf = (revision: number) => `2026-01-31T12:00:0${revision}.000Z`;

describe('the projection of moves', () => {
  it('shows a move from its request', () => expect(rowAfter(requested)).to.deep.equal(requestedRow));

  it('is submitted from its signature on, and pending again once that has expired', () => {
    expect(rowAfter(requested, signed(1))).to.deep.equal({
      ...requestedRow,
      revision: 1,
      status: 'submitted',
      attempts: 1,
      signature: 'sig-1',
      updatedAt: timeOf(1),
    });
    expect(rowAfter(requested, signed(1), submitted(1))).to.include({ status: 'submitted', attempts: 1 });
    expect(rowAfter(requested, signed(1), expired(1))).to.include({ status: 'pending', attempts: 1 });
    expect(rowAfter(requested, signed(1), expired(1), signed(2))).to.include({
      status: 'submitted',
      attempts: 2,
      signature: 'sig-2',
    });
  });

  it('is confirmed with its signature and slot', () =>
    expect(rowAfter(requested, signed(1), confirmed)).to.deep.equal({
      ...requestedRow,
      revision: 2,
      status: 'confirmed',
      attempts: 1,
      signature: 'sig-1',
      slot: 7n,
      updatedAt: timeOf(2),
    }));

  it('is failed with the reason, on the chain or before it', () => {
    expect(rowAfter(requested, signed(1), failed('sig-1', 8n))).to.include({
      status: 'failed',
      errorCode: 'moves/failed_on_chain',
      signature: 'sig-1',
      slot: 8n,
    });
    expect(rowAfter(requested, failed(null, null))).to.include({
      status: 'failed',
      signature: null,
      slot: null,
    });
  });

  it('changes nothing when a page is applied again', () => {
    const history = recorded(requested, signed(1), confirmed);
    const row = foldRow(movesProjection, undefined, history);
    expect(foldRow(movesProjection, row, history)).to.equal(row);
    expect(foldRow(movesProjection, row, history.slice(2))).to.equal(row);
  });

  it('refuses a history with a gap, or without its request', () => {
    const [first, , third] = recorded(requested, signed(1), confirmed);
    const holed = [first, third].filter((event) => event !== undefined);
    expect(() => foldRow(movesProjection, undefined, holed)).to.throw('Revision 2');
    expect(() => rowAfter(signed(1))).to.throw('begins with its request');
  });

  it('ignores other streams', () => {
    const [event] = recorded(requested);
    expect(event && movesProjection.keyOf(event)).to.equal('mov_1');
    expect(event && movesProjection.keyOf({ ...event, stream: `account-live.${APP}.usr.1` })).to.equal(
      undefined,
    );
  });
});

const subject = {
  operation: 'cashOut',
  key: 'ref-1',
  appId: APP,
  userId: 'usr_1',
  currencyId: 2,
  amount: 40n,
} as const;

const requested: MoveEvent = {
  type: 'MoveRequested',
  data: {
    ...subject,
    moveId: 'mov_1',
    mint: 'native',
    decimals: 9,
    from: { walletId: 'wlt_1', ownerId: APP, address: 'treasury' },
    toAddress: 'player',
    requestedAt: timeOf(0),
  },
};
const signed = (attempt: number): MoveEvent => ({
  type: 'TransactionSigned',
  data: {
    attempt,
    signature: `sig-${attempt}`,
    transaction: 'AQID',
    blockhash: 'hash',
    lastValidBlockHeight: 150n,
    feePayer: 'payer',
  },
});
const submitted = (attempt: number): MoveEvent => ({
  type: 'TransactionSubmitted',
  data: { attempt, signature: `sig-${attempt}` },
});
const expired = (attempt: number): MoveEvent => ({
  type: 'TransactionExpired',
  data: { attempt, signature: `sig-${attempt}` },
});
const confirmed: MoveEvent = { type: 'MoveConfirmed', data: { ...subject, signature: 'sig-1', slot: 7n } };
const failed = (signature: string | null, slot: bigint | null): MoveEvent => ({
  type: 'MoveFailed',
  data: { ...subject, code: 'moves/failed_on_chain', signature, slot },
});

const requestedRow: MoveRow = {
  ...subject,
  moveId: 'mov_1',
  revision: 0,
  environment: 'live',
  ownerId: APP,
  mint: 'native',
  walletId: 'wlt_1',
  fromAddress: 'treasury',
  toAddress: 'player',
  status: 'pending',
  attempts: 0,
  signature: null,
  slot: null,
  errorCode: null,
  requestedAt: timeOf(0),
  updatedAt: timeOf(0),
};

const rowAfter = (...events: readonly MoveEvent[]) =>
  foldRow(movesProjection, undefined, recorded(...events));

const recorded = (...events: readonly MoveEvent[]) =>
  recordedHistory(moveEvents, STREAM, events, (revision) => new Date(timeOf(revision)));
