/** An open that the hold process finishes. Source: contract, Common rules (replays). */
import { createAccounts } from '@coffer/accounts';
import {
  type AppendRequest,
  createCommandHandler,
  type EventStore,
  type StreamEvent,
} from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { newId, noFailPoint } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import { createPlaySessions } from './playSessions.ts';

const PLACE = { environment: 'test', appId: newId('app'), scopeId: newId('scp') } as const;
const TERMS = { userId: newId('usr'), gameCode: 'dice', currency: 'CHIP', lockAmount: 0n };

function startNode(store: EventStore) {
  const handler = createCommandHandler({ store });
  return createPlaySessions({
    handler,
    store,
    clock: () => new Date(0),
    failPoint: noFailPoint,
    accounts: createAccounts({ handler, store }),
    users: {
      show: async ({ userId }) => ({
        userId,
        appId: PLACE.appId,
        registeredAt: new Date(0).toISOString(),
        status: 'active',
        identities: [],
        revision: 0,
      }),
      requireActive: async () => undefined,
    },
    currencyByCode: () => ({ id: 1 }),
  });
}

/** A node whose appends of held funds are followed by this before it goes on. */
const startNodeWith = (memory: EventStore, meanwhile: (held: StreamEvent) => Promise<unknown>) =>
  startNode({
    ...memory,
    async append(asked: AppendRequest) {
      const result = await memory.append(asked);
      const [event] = asked.events;
      if (event?.type === 'FundsHeld') await meanwhile({ ...event, stream: asked.stream, revision: 0 });
      return result;
    },
  });

const open = (node: ReturnType<typeof startNode>) =>
  node.open(
    PLACE,
    { ...TERMS, transactionUuid: 'open-1' },
    { requestId: 'request', actor: 'key:1', deadlineMs: patiently() },
  );

describe('a session that is opened', () => {
  it('is not a replay for whoever held its funds, even if the process opens it first', async () => {
    const memory = createMemoryEventStore();
    const process = startNode(memory);
    const node = startNodeWith(memory, (held) => process.carryOut.open(held, patiently()));
    const first = await open(node);
    expect(first.replayed).to.equal(false);
    expect(await open(node)).to.deep.include({ answer: first.answer, replayed: true });
  });

  it('is a replay for the other of two identical requests, even if that opens it first', async () => {
    const memory = createMemoryEventStore();
    const others: Awaited<ReturnType<typeof open>>[] = [];
    const other = startNode(memory);
    const first = await open(startNodeWith(memory, async () => others.push(await open(other))));
    expect(first.replayed).to.equal(false);
    expect(others).to.have.length(1);
    expect(others[0]).to.deep.include({ answer: first.answer, replayed: true });
  });
});
