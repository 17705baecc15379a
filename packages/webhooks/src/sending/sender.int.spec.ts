import { until } from '@coffer/testing';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { type Receiver, startReceiver } from '../testing/receiver.ts';
import { type SendingWorld, startSendingWorld } from '../testing/sendingWorld.ts';
import { RETRY_DELAYS_MS } from './schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('the delivery of webhooks', () => {
  let world: SendingWorld;
  const receivers: Receiver[] = [];
  beforeEach(async () => {
    world = await startSendingWorld();
  });
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) receiver.close();
    await world.stop();
  });

  const receiverThat = async (answer?: Parameters<typeof startReceiver>[0]) => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    return receiver;
  };
  const endpoint = async (answer?: Parameters<typeof startReceiver>[0]) => {
    const receiver = await receiverThat(answer);
    const { subscription, secret } = await world.subscribe({ url: `${receiver.url}/hooks` });
    return { receiver, secret, id: subscription.id };
  };
  const answering = (status: number) => endpoint((_received, response) => response.writeHead(status).end());
  const states = async () => (await world.deliveries()).map(({ state }) => state);
  const onlyDelivery = async () => {
    const [delivery] = await world.deliveries();
    if (!delivery) throw new Error('There is no delivery.');
    return delivery;
  };
  const failuresAre = (count: number) => until(async () => (await onlyDelivery()).failures === count);

  it('sends each event once to an endpoint that takes it, signed, with the number before it', async () => {
    const { receiver, secret, id } = await endpoint();
    await world.emit(50, id);
    world.startSender();
    await until(async () => (await states()).every((state) => state === 'delivered'));
    const bodies = receiver.received.map(({ body }) => JSON.parse(body.toString()));
    expect(bodies.map(({ sequence }) => sequence).sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
    for (const { sequence, previousSequence } of bodies)
      expect(previousSequence).to.equal(sequence === 1 ? null : sequence - 1);
    const [first] = receiver.received;
    // The clock of the spec is not that of the library.
    expect(() =>
      new Webhook(secret).verify(first?.body ?? '', { ...first?.headers } as Record<string, string>),
    ).to.throw('timestamp');
    expect(first?.headers).to.include({ 'x-service-event': 'user.created' });
  });

  it('attempts a delivery after 10 s, 1 min, 5 min and 30 min, then gives it up', async () => {
    const { receiver, id } = await answering(500);
    await world.emit(1, id);
    world.startSender();
    for (const [index, delayMs] of [10_000, MINUTE, 5 * MINUTE, 30 * MINUTE].entries()) {
      await failuresAre(index + 1);
      expect(await onlyDelivery()).to.include({ state: 'pending', attempts: index + 1, dueInMs: delayMs });
      world.advance(delayMs);
    }
    await failuresAre(5);
    expect(await onlyDelivery()).to.include({ state: 'failed', attempts: 5 });
    expect(receiver.received).to.have.length(5);
    const [first, ...others] = receiver.received;
    for (const other of others) {
      expect(other.body.equals(first?.body ?? Buffer.of()), 'the same bytes').to.equal(true);
      expect(other.headers['webhook-id']).to.equal(first?.headers['webhook-id']);
      expect(other.headers['webhook-timestamp']).not.to.equal(first?.headers['webhook-timestamp']);
    }
  });

  it('takes the times of the real clock: 10 s for an attempt, and 10 s until the next', async () => {
    const { receiver, id } = await endpoint((_received, response) => {
      if (receiver.received.length > 1) response.end();
    });
    await world.emit(1, id);
    world.startSender({ clock: () => new Date() });
    const isDelivered = async () => {
      const { rows } = await world.pool.query(
        "select from records.webhook_deliveries where state = 'delivered'",
      );
      return rows.length === 1;
    };
    await until(isDelivered);
    const { rows } = await world.pool.query<{ error: string | null; isInTime: boolean }>(
      `select error, number = 1 or started_at >= lag(started_at) over (order by number) + interval '20 seconds'
         as "isInTime"
       from records.webhook_attempts order by number`,
    );
    expect(rows).to.deep.equal([
      { error: 'timeout', isInTime: true },
      { error: null, isInTime: true },
    ]);
  });

  it('is given up without another attempt if that would begin more than 2 h after the first', async () => {
    const { receiver, id } = await answering(503);
    await world.emit(1, id);
    const sender = world.startSender();
    await failuresAre(1);
    await sender.stop();
    world.advance(2 * HOUR + 1);
    world.startSender();
    await until(async () => (await onlyDelivery()).state === 'failed');
    expect(await onlyDelivery()).to.include({ attempts: 1, failures: 1 });
    expect(receiver.received).to.have.length(1);
  });

  for (const status of [302, 400, 404, 500]) {
    it(`has failed if the receiver answers ${status}`, async () => {
      const { id } = await answering(status);
      await world.emit(1, id);
      world.startSender();
      await failuresAre(1);
      const { rows } = await world.pool.query('select number, status, error from records.webhook_attempts');
      expect(rows).to.deep.equal([{ number: 1, status, error: null }]);
    });
  }

  it('keeps of each attempt when it began, how long it took and what was answered', async () => {
    const { id } = await endpoint((_received, response) => response.writeHead(500).end('out of order'));
    await world.emit(1, id);
    world.startSender();
    await failuresAre(1);
    const { rows } = await world.pool.query(
      'select started_at as at, duration_ms >= 0 as timed, answer_head as head from records.webhook_attempts',
    );
    expect(rows).to.deep.equal([{ at: world.now(), timed: true, head: 'out of order' }]);
  });

  it('is made again where a sender died in the middle, and that attempt does not count as a failure', async () => {
    const hanging = await endpoint(() => undefined);
    await world.emit(1, hanging.id);
    const dying = world.startSender({ timeoutMs: 3_600_000 });
    await until(() => hanging.receiver.received.length === 1);
    await dying.stop();
    world.advance(30_000);
    world.startSender({ timeoutMs: 20 });
    await failuresAre(1);
    const { rows } = await world.pool.query(
      'select number, error from records.webhook_attempts order by number',
    );
    expect(rows).to.deep.equal([
      { number: 1, error: null },
      { number: 2, error: 'timeout' },
    ]);
  });

  it('is shared by several senders, each delivery by one of them', async () => {
    const { receiver, id } = await endpoint();
    await world.emit(300, id);
    for (let count = 0; count < 3; count += 1) world.startSender();
    await until(async () => (await states()).every((state) => state === 'delivered'));
    expect(receiver.received).to.have.length(300);
  });

  it('makes first attempts before retries', async () => {
    let isDown = true;
    const { receiver, id } = await endpoint((_received, response) =>
      response.writeHead(isDown ? 500 : 200).end(),
    );
    await world.emit(1, id);
    const sender = world.startSender();
    await failuresAre(1);
    await sender.stop();
    world.advance(MINUTE);
    await world.emit(3, id);
    isDown = false;
    world.startSender();
    await until(async () => (await states()).every((state) => state === 'delivered'));
    const order = receiver.received.map(({ body }) => JSON.parse(body.toString()).sequence);
    expect(order.slice(1).at(-1)).to.equal(1);
  });

  it('is made again while first attempts wait, however many there are', async () => {
    let isDown = true;
    const { receiver, id } = await endpoint((_received, response) =>
      response.writeHead(isDown ? 500 : 200).end(),
    );
    await world.emit(5, id);
    const sender = world.startSender();
    await until(async () => (await world.deliveries()).every(({ failures }) => failures === 1));
    await sender.stop();
    world.advance(MINUTE);
    await world.emit(1_000, id);
    isDown = false;
    world.startSender();
    await until(async () => (await states()).every((state) => state === 'delivered'));
    const order = receiver.received.slice(5).map(({ body }) => JSON.parse(body.toString()).sequence);
    expect(order.slice(0, 100).filter((sequence) => sequence <= 5)).to.have.length(5);
    expect(order[0], 'a first attempt').to.be.greaterThan(5);
  });

  it('does not wait for an endpoint that hangs', async () => {
    const dead = await endpoint(() => undefined);
    const healthy = await endpoint();
    await world.emit(40, dead.id, healthy.id);
    world.startSender();
    await until(() => healthy.receiver.received.length === 40);
    expect(dead.receiver.received.length).to.be.at.most(4);
  });

  it('fails when its subscription is deleted, also while an attempt is under way', async () => {
    const hanging = await endpoint(() => undefined);
    await world.emit(2_500, hanging.id);
    world.startSender();
    await until(() => hanging.receiver.received.length > 0);
    await world.change((change) => world.subscriptions.remove(change, 'app_1', hanging.id));
    const other = world.startSender();
    await until(async () => (await states()).every((state) => state === 'failed'));
    other.wake();
    world.advance(HOUR);
    const attempted = hanging.receiver.received.length;
    const healthy = await endpoint();
    await world.emit(1, healthy.id);
    await until(() => healthy.receiver.received.length === 1);
    expect(hanging.receiver.received).to.have.length(attempted);
  });

  it('is signed with both secrets for a day after a rotation, then with the new one alone', async () => {
    const { receiver, id } = await endpoint();
    const signatures = () =>
      receiver.received.map(({ headers }) => String(headers['x-service-signature']).split(',').length - 1);
    await world.emit(1, id);
    world.startSender();
    await until(() => receiver.received.length === 1);
    await world.change((change) => world.subscriptions.rotate(change, 'app_1', id));
    await world.emit(1, id);
    await until(() => receiver.received.length === 2);
    world.advance(24 * HOUR);
    await world.emit(1, id);
    await until(() => receiver.received.length === 3);
    expect(signatures()).to.deep.equal([1, 2, 1]);
  });

  describe('of which a secret cannot be opened', () => {
    const signatures = ({ received }: Receiver) =>
      received.map(({ headers }) => String(headers['x-service-signature']).split(',').length - 1);
    const spoil = (column: 'secret' | 'previous_secret', id: string) =>
      world.pool.query(
        `update records.webhook_subscriptions set epoch = epoch + 1, ${column} = ${column} || '{"tag":"AAAAAAAAAAAAAAAAAAAAAA=="}'
         where subscription_id = $1`,
        [id],
      );
    const secretOf = async (id: string) =>
      (
        await world.pool.query<{ secret: unknown }>(
          'select secret from records.webhook_subscriptions where subscription_id = $1',
          [id],
        )
      ).rows[0]?.secret;

    it('waits by itself, is named once, and is not looked at until the next sweep', async () => {
      const [bad, healthy] = [await endpoint(), await endpoint()];
      await spoil('secret', bad.id);
      const asked: string[] = [];
      const reports: string[] = [];
      world.startSender({
        sweepMs: HOUR,
        beforeTargets: async (ids) => void asked.push(...ids),
        onUnreadable: ({ subscriptionId, which }) => reports.push(`${which} ${subscriptionId}`),
      });
      for (let count = 1; count <= 10; count += 1) {
        await world.emit(1, bad.id, healthy.id);
        await until(() => healthy.receiver.received.length === count);
      }
      expect(bad.receiver.received).to.have.length(0);
      expect(reports).to.deep.equal([`current ${bad.id}`]);
      expect(asked.filter((id) => id === bad.id)).to.have.length(1);
      const waiting = (await world.deliveries()).filter(({ id }) => id === bad.id);
      expect(new Set(waiting.map(({ state, attempts }) => `${state} ${attempts}`))).to.deep.equal(
        new Set(['pending 0']),
      );
    });

    it('goes out once it can be opened again, or was replaced', async () => {
      const { receiver, id } = await endpoint();
      const sealed = await secretOf(id);
      const reports: string[] = [];
      const asked: string[] = [];
      world.startSender({
        sweepMs: 5,
        beforeTargets: async () => void asked.push(id),
        onUnreadable: ({ which }) => reports.push(which),
      });

      await spoil('secret', id);
      await world.emit(1, id);
      await until(() => asked.length >= 5);
      await world.pool.query('update records.webhook_subscriptions set secret = $1', [sealed]);
      await until(() => receiver.received.length === 1);

      await spoil('secret', id);
      await world.emit(1, id);
      await until(() => reports.length === 2);
      await world.change((change) => world.subscriptions.rotate(change, 'app_1', id));
      await until(() => receiver.received.length === 2);
      expect(signatures(receiver)).to.deep.equal([1, 1]);
      expect(reports).to.deep.equal(['current', 'current', 'former']);
    });

    it('is sent with the other one if that is the former, which is not opened once its day is over', async () => {
      const { receiver, id } = await endpoint();
      const reports: string[] = [];
      const sender = world.startSender({ onUnreadable: ({ which }) => reports.push(which) });
      await world.change((change) => world.subscriptions.rotate(change, 'app_1', id));
      await spoil('previous_secret', id);
      await world.emit(1, id);
      await until(() => receiver.received.length === 1);
      await sender.stop();
      world.advance(24 * HOUR);
      world.startSender({ onUnreadable: ({ which }) => reports.push(which) });
      await world.emit(1, id);
      await until(() => receiver.received.length === 2);
      expect(signatures(receiver)).to.deep.equal([1, 1]);
      expect(reports).to.deep.equal(['former']);
    });
  });

  it('is broken off when its subscription is deleted, and nothing is sent to it any more', async () => {
    let hangUps = 0;
    const hanging = await endpoint((_received, response) => {
      response.on('close', () => {
        hangUps += 1;
      });
    });
    const healthy = await endpoint();
    world.startSender({ timeoutMs: 3_600_000 });
    await world.emit(20, hanging.id);
    await until(() => hanging.receiver.received.length === 4);
    await world.change((change) => world.subscriptions.remove(change, 'app_1', hanging.id));
    await until(() => hangUps === 4);
    world.advance(HOUR);
    await world.emit(1, healthy.id);
    await until(() => healthy.receiver.received.length === 1);
    expect(hanging.receiver.received).to.have.length(4);
    const ofDeleted = (await world.deliveries()).filter(({ id }) => id === hanging.id);
    expect(new Set(ofDeleted.map(({ state }) => state))).to.deep.equal(new Set(['failed']));
  });

  it('is not begun if its subscription is deleted between the claim and the attempt', async () => {
    const { receiver, id } = await endpoint();
    const healthy = await endpoint();
    let deleteFirst = async () => {};
    const sender = world.startSender({ beforeTargets: () => deleteFirst() });
    await world.emit(1, id, healthy.id);
    await until(() => receiver.received.length + healthy.receiver.received.length === 2);
    deleteFirst = async () => {
      deleteFirst = async () => {};
      await world.change((change) => world.subscriptions.remove(change, 'app_1', id));
    };
    await world.emit(1, id, healthy.id);
    await until(() => healthy.receiver.received.length === 2);
    await sender.stop();
    expect(receiver.received).to.have.length(1);
  });

  it('waits while what has ended cannot be recorded, and then goes on', async () => {
    const { receiver, id } = await endpoint();
    await world.pool.query(
      `create function records.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create trigger refuse before update on records.webhook_attempts execute function records.refuse()`,
    );
    const troubles: unknown[] = [];
    world.startSender({ onTrouble: (error) => troubles.push(error) });
    await world.emit(1, id);
    await until(() => troubles.length === 1);
    await world.emit(1, id);
    // A record is tried again after a second, in which a claim is tried many times.
    await until(() => troubles.length === 2);
    expect(receiver.received).to.have.length(1);
    await world.pool.query('drop trigger refuse on records.webhook_attempts');
    await until(async () => (await states()).every((state) => state === 'delivered'));
    expect(receiver.received).to.have.length(2);
  });

  it('waits while its subscription is disabled', async () => {
    const { receiver, id } = await endpoint();
    const set = (disabled: boolean) =>
      world.change((change) => world.subscriptions.update(change, 'app_1', id, { disabled }));
    await set(true);
    await world.emit(1, id);
    const healthy = await endpoint();
    await world.emit(1, healthy.id);
    world.startSender();
    await until(() => healthy.receiver.received.length === 1);
    expect(receiver.received).to.have.length(0);
    await set(false);
    await until(() => receiver.received.length === 1);
  });

  it('disables an endpoint that has failed for five days, and not one that has answered once', async () => {
    const isDown = new Set<string>();
    const both = await receiverThat(({ path }, response) =>
      response.writeHead(isDown.has(path) ? 500 : 200).end(),
    );
    const subscribe = async (path: string) =>
      (await world.subscribe({ url: `${both.url}${path}` })).subscription.id;
    const [dead, flaky] = [await subscribe('/dead'), await subscribe('/flaky')];
    isDown.add('/dead').add('/flaky');
    world.startSender();
    const giveUp = async () => {
      await world.emit(1, dead, flaky);
      for (const [index, delayMs] of [...RETRY_DELAYS_MS, 0].entries()) {
        await until(async () =>
          (await world.deliveries()).slice(-2).every((one) => one.failures === index + 1),
        );
        world.advance(delayMs);
      }
    };
    await giveUp();
    world.advance(3 * 24 * HOUR);
    isDown.delete('/flaky');
    await world.emit(1, flaky);
    await until(async () => (await states()).includes('delivered'));
    isDown.add('/flaky');
    world.advance(2 * 24 * HOUR);
    await giveUp();
    const { rows } = await world.pool.query(
      `select state, disabled_reason as reason from records.webhook_subscriptions order by created_at, subscription_id`,
    );
    expect(rows).to.deep.equal([
      { state: 'disabled', reason: 'failing' },
      { state: 'enabled', reason: null },
    ]);
  });
});
