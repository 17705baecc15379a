import type { Environment } from '@coffer/kernel';
import { expect } from 'chai';
import { resendRange } from './deliveryLog.ts';
import type { EventType } from './domain/eventTypes.ts';
import { pruneSome } from './retention.ts';
import { type SendingWorld, startSendingWorld } from './testing/sendingWorld.ts';

describe('what was missed and is sent again', () => {
  let world: SendingWorld;
  beforeEach(async () => {
    world = await startSendingWorld();
  });
  afterEach(() => world.stop());

  const subscribe = async (): Promise<string> =>
    (await world.subscribe({ url: 'https://hooks.example/' })).subscription.id;
  const resend = (
    id: string,
    from: number,
    to: number,
    filter: { readonly events?: readonly EventType[]; readonly environment?: Environment } = {},
  ) =>
    resendRange(
      world.pool,
      'app_1',
      { id, events: null, environment: null, ...filter },
      { from: BigInt(from), to: BigInt(to) },
      world.now(),
    );
  const queued = async () => {
    const { rows } = await world.pool.query<Record<'sequence' | 'previous', number>>(
      `select sequence::integer, previous_sequence::integer as previous from records.webhook_deliveries order by 1`,
    );
    return rows.map(({ sequence, previous }) => [sequence, previous]);
  };

  it('names the event before it that is for the subscription, also one that was not delivered', async () => {
    const id = await subscribe();
    await world.emit(1, id);
    // While it is disabled.
    await world.emit(3);
    await world.emit(1, id);
    await resend(id, 3, 5);
    expect(await queued()).to.deep.equal([
      [1, null],
      [3, 2],
      [4, 3],
      [5, 4],
    ]);
  });

  it('names it also when nothing was delivered before', async () => {
    await world.emit(2);
    const id = await subscribe();
    await world.emit(3);
    await resend(id, 5, 5);
    await resend(id, 3, 3);
    expect(await queued()).to.deep.equal([
      [3, null],
      [5, 4],
    ]);
  });

  it('names none for events from before the subscription', async () => {
    await world.emit(3);
    const id = await subscribe();
    await resend(id, 2, 3);
    expect(await queued()).to.deep.equal([
      [2, null],
      [3, null],
    ]);
  });

  it('passes over events that the subscription is not for', async () => {
    const id = await subscribe();
    await world.emit(5);
    await world.pool.query(
      `update records.webhook_events set type = 'user.suspended' where sequence in (1, 3, 5)`,
    );
    await world.pool.query(`update records.webhook_events set environment = 'live' where sequence = 3`);
    await resend(id, 4, 5, { events: ['user.suspended'], environment: 'test' });
    expect(await queued()).to.deep.equal([[5, 1]]);
  });

  it('names the last that is no longer kept, if it may have missed that', async () => {
    const id = await subscribe();
    await world.emit(2);
    world.advance(1_000);
    await world.emit(2);
    await pruneSome(world.pool, 'app_1', world.now());
    await resend(id, 1, 4);
    expect(await queued()).to.deep.equal([
      [3, 2],
      [4, 3],
    ]);
  });
});
