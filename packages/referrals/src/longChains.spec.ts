/** Long chains of referrers: a node climbs them once, however many join at the bottom. */
import { type CommandHandler, createCommandHandler } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { newId, noFailPoint } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import { createAttributions } from './attributions.ts';
import { referral, referralStreamOf } from './domain/referral.ts';

const LENGTH = 1_000;

describe('a long chain of referrers', () => {
  it('is climbed once, and not again by those who join at the bottom with a code', async () => {
    const store = createMemoryEventStore();
    const place = { appId: newId('app'), scopeId: newId('scp'), environment: 'test' as const };
    const context = { requestId: 'req-1', actor: 'key:1', deadlineMs: patiently() };
    let looks = 0;
    const startNode = () => {
      const handler = createCommandHandler({ store });
      const counting: Pick<CommandHandler, 'execute'> = {
        execute(type, stream, command, by) {
          looks += 1;
          return handler.execute(type, stream, command, by);
        },
      };
      const clock = () => new Date(0);
      return {
        handler,
        attributions: createAttributions({
          handler: counting,
          clock,
          failPoint: noFailPoint,
          referrerOf: async (_place, code) => ({ userId: code, code }),
        }),
      };
    };
    /** How many looks it takes. */
    const joins = async (
      { handler, attributions }: ReturnType<typeof startNode>,
      userId: string,
      by: string,
    ) => {
      await handler.execute(
        referral,
        referralStreamOf({ ...place, userId }),
        { type: 'IssueCode', code: userId },
        {
          metadata: { correlationId: 'r', actor: 'a', occurredAt: '2026-01-31T12:00:00.000Z' },
          deadlineMs: patiently(),
        },
      );
      const before = looks;
      const { answer } = await attributions.attribute(place, userId, by, context);
      expect(answer.attributed).to.equal(true);
      return looks - before;
    };

    const node = startNode();
    const few = await joins(node, 'user-1', 'user-0');
    for (let at = 2; at <= LENGTH; at++) {
      expect(await joins(node, `user-${at}`, `user-${at - 1}`)).to.be.at.most(few + 2);
    }
    const other = startNode();
    expect(await joins(other, 'newcomer', `user-${LENGTH}`)).to.be.at.least(LENGTH);
    expect(await joins(other, 'next', 'newcomer')).to.be.at.most(few + 2);
  });
});
