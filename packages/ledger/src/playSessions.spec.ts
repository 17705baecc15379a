/** An open that the hold process finishes. Source: contract, Common rules (replays). */
import { createAccounts } from '@coffer/accounts';
import { type AppendRequest, createCommandHandler, type EventStore } from '@coffer/event-store';
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

describe('a session that is opened', () => {
  it('is not a replay for whoever held its funds, even if the process opens it first', async () => {
    const memory = createMemoryEventStore();
    const process = startNode(memory);
    const request = startNode({
      ...memory,
      async append(asked: AppendRequest) {
        const result = await memory.append(asked);
        const [event] = asked.events;
        if (event?.type === 'FundsHeld') {
          await process.carryOut.open({ ...event, stream: asked.stream, revision: 0 }, patiently());
        }
        return result;
      },
    });
    const open = () =>
      request.open(
        PLACE,
        { ...TERMS, transactionUuid: 'open-1' },
        { requestId: 'request', actor: 'key:1', deadlineMs: patiently() },
      );

    const first = await open();
    expect(first.replayed).to.equal(false);
    expect(await open()).to.deep.include({ answer: first.answer, replayed: true });
  });
});
