import { createCommandHandler } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { Rejection } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import { move } from './domain/move.ts';
import { moveStreamName, treasuryMovePlace } from './domain/moveIds.ts';
import { createMoves } from './moves.ts';
import { attempt, deposit } from './testing/moveBuilders.ts';
import type { MoveOrder } from './types.ts';

const place = treasuryMovePlace('test', 'app_01h455vb4pex5vsknk084sn02q', 'ref-1');
const { moveId: _, ...order }: MoveOrder & { moveId: string } = deposit();
const REQUESTED_AT = order.requestedAt;

const contextAt = (occurredAt: string) => ({
  metadata: { correlationId: 'request-1', actor: 'key:1', occurredAt },
  get deadlineMs() {
    return patiently();
  },
});
const context = contextAt(REQUESTED_AT);

describe('moves', () => {
  it('answer a request and its repeats with the move as it was requested', async () => {
    const { moves, handler } = world();
    const first = await moves.request(place, order, context);
    expect(first.replayed).to.equal(false);
    expect(first.answer).to.deep.equal({
      ...order,
      moveId: place.moveId,
      status: 'pending',
      signature: null,
      slot: null,
      errorCode: null,
      updatedAt: REQUESTED_AT,
    });
    expect(first.requested).to.include({ type: 'MoveRequested', stream: moveStreamName(place), revision: 0 });

    const signed = { type: 'RecordSigned', signed: attempt(1) } as const;
    await handler.execute(move, moveStreamName(place), signed, context);
    const again = await moves.request(
      place,
      { ...order, requestedAt: '2027-01-01T00:00:00.000Z' },
      contextAt('2027-01-01T00:00:00.000Z'),
    );
    expect(again.replayed).to.equal(true);
    expect(again.appended).to.deep.equal([]);
    expect(again.answer).to.deep.equal(first.answer);
    expect(again.requested.id).to.equal(first.requested.id);
  });

  it('refuse different content under the same key', async () => {
    const { moves } = world();
    await moves.request(place, order, context);
    const refusal = await moves.request(place, { ...order, amount: 5n }, context).catch((error) => error);
    expect(refusal).to.be.instanceOf(Rejection);
    expect(refusal).to.deep.include({
      code: 'treasury/idempotency_conflict',
      details: { key: 'ref-1', field: 'amount' },
    });
  });

  it('show the state of a move, and since when', async () => {
    const { moves, handler } = world();
    expect(await moves.find(place, context)).to.equal(undefined);
    await moves.request(place, order, context);
    const steps = [
      [
        { type: 'RecordSigned', signed: attempt(1) },
        { status: 'submitted', signature: 'signature-1' },
      ],
      [
        { type: 'RecordSubmitted', attempt: 1, signature: 'signature-1' },
        { status: 'submitted', signature: 'signature-1' },
      ],
      [
        { type: 'RecordExpired', attempt: 1, signature: 'signature-1' },
        { status: 'pending', signature: 'signature-1', slot: null },
      ],
      [
        { type: 'RecordSigned', signed: attempt(2) },
        { status: 'submitted', signature: 'signature-2' },
      ],
      [
        { type: 'ConfirmMove', signature: 'signature-2', slot: 9n },
        { status: 'confirmed', signature: 'signature-2', slot: 9n, errorCode: null },
      ],
    ] as const;
    for (const [index, [command, expected]] of steps.entries()) {
      const updatedAt = `2026-01-31T12:00:0${index + 1}.000Z`;
      await handler.execute(move, moveStreamName(place), command, contextAt(updatedAt));
      expect(await moves.find(place, context)).to.deep.include({ ...order, ...expected, updatedAt });
    }
  });

  it('show why a move failed', async () => {
    const { moves, handler } = world();
    await moves.request(place, order, context);
    const failure = { type: 'FailMove', code: 'moves/source_frozen', onChain: null } as const;
    await handler.execute(move, moveStreamName(place), failure, context);
    expect(await moves.find(place, context)).to.deep.include({
      status: 'failed',
      signature: null,
      errorCode: 'moves/source_frozen',
    });
  });
});

function world() {
  const store = createMemoryEventStore();
  const handler = createCommandHandler({ store });
  return { store, handler, moves: createMoves({ handler, store }) };
}
