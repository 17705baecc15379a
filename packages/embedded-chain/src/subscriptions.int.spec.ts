import { once } from 'node:events';
import { type Connection, Keypair, SystemProgram } from '@solana/web3.js';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import type { ChainWorld } from './testing/chainWorld.ts';
import {
  closeSocket,
  fundedKeypair,
  LAMPORTS_PER_SOL,
  memo,
  signed,
  startWithAlice,
  transfer,
} from './testing/web3Client.ts';

describe('subscriptions of the embedded chain', () => {
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  beforeEach(async () => {
    ({ world, connection, alice } = await startWithAlice());
  });
  afterEach(() => {
    closeSocket(connection);
    return world.stop();
  });

  const newAddress = () => Keypair.generate().publicKey;
  const pay = async (to = newAddress(), text = 'gg') =>
    connection.sendRawTransaction(
      await signed(connection, [alice], [transfer(alice.publicKey, to, LAMPORTS_PER_SOL), memo(text)]),
    );
  /** What a listener receives first. */
  const told = <T>() => {
    const all: T[] = [];
    const { promise, resolve } = Promise.withResolvers<T>();
    const tell = (one: T) => {
      all.push(one);
      resolve(one);
    };
    return { all, first: promise, tell };
  };
  /** A subscription that the node has answered. */
  const subscribed = async (socket: Socket, method: string, params: readonly unknown[] = []) =>
    Number(Reflect.get(await socket.call(method, params), 'result'));

  interface Socket {
    readonly call: (method: string, params?: readonly unknown[]) => Promise<object>;
    readonly say: (text: string) => void;
    readonly next: (
      isWanted: (message: Record<string, unknown>) => boolean,
    ) => Promise<Record<string, unknown>>;
    readonly seen: readonly Record<string, unknown>[];
    readonly close: () => void;
  }
  const openSocket = async (): Promise<Socket> => {
    const socket = new WebSocket(world.url.replace('http', 'ws'));
    const seen: Record<string, unknown>[] = [];
    socket.on('message', (data) => {
      seen.push(JSON.parse(String(data)));
      socket.emit('seen');
    });
    await once(socket, 'open');
    const next: Socket['next'] = async (isWanted) => {
      for (;;) {
        const found = seen.find(isWanted);
        if (found) return found;
        await once(socket, 'seen');
      }
    };
    let id = 0;
    const call: Socket['call'] = (method, params = []) => {
      id += 1;
      const own = id;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method, params }));
      return next((message) => message.id === own);
    };
    return { call, say: (text) => socket.send(text), next, seen, close: () => socket.terminate() };
  };

  it('send the logs of all, and of those that name an address', async () => {
    const socket = await openSocket();
    const bob = newAddress();
    const ofBob = await subscribed(socket, 'logsSubscribe', [
      { mentions: [bob.toBase58()] },
      { commitment: 'processed' },
    ]);
    const ofAll = await subscribed(socket, 'logsSubscribe', ['all', { commitment: 'processed' }]);
    const other = await pay();
    const signature = await pay(bob, 'for bob');
    const notified = (subscription: number, of: string) =>
      socket.next(
        ({ params }) =>
          Reflect.get(Object(params), 'subscription') === subscription && JSON.stringify(params).includes(of),
      );
    const told = await notified(ofBob, signature);
    expect(told).to.have.property('method', 'logsNotification');
    expect(told).to.have.nested.property('params.result.value.err', null);
    expect(JSON.stringify(told)).to.contain('for bob');
    await notified(ofAll, other);
    await notified(ofAll, signature);
    const ofBobs = socket.seen.filter(({ params }) => Reflect.get(Object(params), 'subscription') === ofBob);
    expect(ofBobs).to.have.length(1);
    socket.close();
  });

  it('send web3.js logs when they are confirmed, once', async () => {
    const logs = told<string>();
    const ready = told<unknown>();
    connection.onLogs('all', ({ signature }) => logs.tell(signature), 'confirmed');
    // Requested after it, so answered after it.
    connection.onSlotChange(ready.tell);
    await eventually(
      () => ready.all.length > 0,
      () => world.advance(1),
    );
    const signature = await pay();
    world.advance(1);
    world.advance(1);
    world.advance(1);
    expect(await logs.first).to.equal(signature);
    expect(logs.all).to.deep.equal([signature]);
  });

  it('send nothing before its commitment', async () => {
    const socket = await openSocket();
    await subscribed(socket, 'logsSubscribe', ['all', { commitment: 'confirmed' }]);
    await subscribed(socket, 'slotSubscribe');
    const signature = await pay();
    const slot = await connection.getSlot('processed');
    world.advance(1);
    await socket.next(({ params }) => JSON.stringify(params ?? '').includes(`"slot":${slot + 1},`));
    expect(socket.seen.filter(({ method }) => method === 'logsNotification')).to.deep.equal([]);
    world.advance(1);
    await socket.next((message) => JSON.stringify(message).includes(signature));
    socket.close();
  });

  it('end if too many refusals are asked for at a time', async () => {
    const socket = new WebSocket(world.url.replace('http', 'ws'));
    await once(socket, 'open');
    const closed = once(socket, 'close');
    const answered = once(socket, 'message');
    for (let id = 0; id < 100; id += 1) socket.send(`{"jsonrpc":"2.0","id":${id},"method":"voteSubscribe"}`);
    await answered;
    expect(socket.readyState).to.equal(WebSocket.OPEN);
    for (let id = 0; id < 10; id += 1) socket.send('{"jsonrpc":"2.0","id":1,"method":"voteSubscribe"}');
    await closed;
  });

  it('end if too much of what is sent is not read', async () => {
    const account = Keypair.generate();
    const rich = await fundedKeypair(world, 1000n);
    const make = SystemProgram.createAccount({
      ...{ fromPubkey: rich.publicKey, newAccountPubkey: account.publicKey, lamports: 100e9 },
      ...{ space: 10 * 1024 * 1024, programId: newAddress() },
    });
    await connection.sendRawTransaction(await signed(connection, [rich, account], [make]));
    const socket = new WebSocket(world.url.replace('http', 'ws'));
    await once(socket, 'open');
    const settings = { encoding: 'base64', commitment: 'processed' };
    const params = [account.publicKey.toBase58(), settings];
    const subscribedTo = once(socket, 'message');
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'accountSubscribe', params }));
    await subscribedTo;
    const closed = once(socket, 'close');
    socket.pause();
    for (let count = 0; count < 4; count += 1) {
      await pay(account.publicKey, `${count}`);
      world.advance(1);
    }
    socket.resume();
    await closed;
  });

  it('send the accounts of a program that pass the filters', async () => {
    const socket = await openSocket();
    const size = 13;
    const settings = { encoding: 'base64', commitment: 'processed', filters: [{ dataSize: size }] };
    await subscribed(socket, 'programSubscribe', [SystemProgram.programId.toBase58(), settings]);
    await pay();
    const [stranger, account] = [Keypair.generate(), Keypair.generate()];
    for (const [made, programId] of [
      [stranger, newAddress()],
      [account, SystemProgram.programId],
    ] as const) {
      const make = SystemProgram.createAccount({
        ...{ fromPubkey: alice.publicKey, newAccountPubkey: made.publicKey, lamports: 1e9, space: size },
        programId,
      });
      await connection.sendRawTransaction(await signed(connection, [alice, made], [make]));
    }
    const found = await socket.next(({ method }) => method === 'programNotification');
    expect(found).to.have.nested.property('params.result.value.pubkey', account.publicKey.toBase58());
    expect(found).to.have.nested.property('params.result.value.account.space', size);
    socket.close();
  });

  it('send every slot and every root, and nothing when unsubscribed', async () => {
    const socket = await openSocket();
    const root = await connection.getSlot('finalized');
    const id = await subscribed(socket, 'rootSubscribe');
    await subscribed(socket, 'slotSubscribe');
    world.advance(3);
    await socket.next(
      ({ method, params }) =>
        method === 'slotNotification' && JSON.stringify(params).includes(`"root":${root + 3}`),
    );
    const roots = () =>
      socket.seen.flatMap(({ method, params }) =>
        method === 'rootNotification' ? [Reflect.get(Object(params), 'result')] : [],
      );
    expect(roots()).to.deep.equal([root + 1, root + 2, root + 3]);
    expect(await socket.call('rootUnsubscribe', [id])).to.include({ result: true });
    world.advance(1);
    await socket.next(
      ({ method, params }) =>
        method === 'slotNotification' && JSON.stringify(params).includes(`"root":${root + 4}`),
    );
    expect(roots()).to.have.length(3);
    expect(await socket.call('rootUnsubscribe', [id])).to.have.nested.property(
      'error.message',
      'Invalid subscription id.',
    );
    socket.close();
  });

  it('can be ended only by whoever began them', async () => {
    const [mine, theirs] = [await openSocket(), await openSocket()];
    const id = await subscribed(mine, 'slotSubscribe');
    expect(await theirs.call('slotUnsubscribe', [id])).to.have.nested.property('error.code', -32602);
    expect(await mine.call('slotUnsubscribe', [id])).to.include({ result: true });
    for (const socket of [mine, theirs]) socket.close();
  });

  it('send what replaces blocks that were taken back', async () => {
    const socket = await openSocket();
    await subscribed(socket, 'logsSubscribe', ['all', { commitment: 'processed' }]);
    const first = await pay();
    await socket.next((message) => JSON.stringify(message).includes(first));
    world.fork({ slots: 1 });
    const second = await pay();
    await socket.next((message) => JSON.stringify(message).includes(second));
    socket.close();
  });

  it('are refused with the code of the error, and pings are not answered', async () => {
    const socket = await openSocket();
    socket.say('{"jsonrpc":"2.0","method":"ping"}');
    expect(await socket.call('voteSubscribe')).to.have.nested.property('error.code', -32601);
    expect(socket.seen).to.have.length(1);
    const other = await openSocket();
    expect(await other.call('logsSubscribe', ['some'])).to.have.nested.property('error.code', -32602);
    const batched = await openSocket();
    batched.say(
      '[{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"},{"jsonrpc":"2.0","id":2,"method":"rootSubscribe"}]',
    );
    expect(await batched.next((message) => Array.isArray(message))).to.have.length(2);
    for (const each of [socket, other, batched]) each.close();
  });

  it('of unknown kinds do not make web3.js retry in a hot loop, and keep nobody else waiting', async () => {
    const asked: unknown[] = [];
    const client: object = Reflect.get(connection, '_rpcWebSocket');
    const call: () => unknown = Reflect.get(client, 'call');
    Reflect.set(client, 'call', (...given: unknown[]) => {
      asked.push(given[0]);
      return Reflect.apply(call, client, given);
    });
    const timesAsked = () => asked.filter((method) => method === 'slotsUpdatesSubscribe').length;
    const slots = told<unknown>();
    connection.onSlotUpdate(() => undefined);
    connection.onSlotChange(slots.tell);
    // Repeated as soon as it was refused.
    await eventually(
      () => timesAsked() === 2,
      () => undefined,
    );
    await eventually(
      () => slots.all.length > 0,
      () => world.advance(1),
    );
    for (let turn = 0; turn < 20; turn += 1) await connection.getSlot();
    expect(timesAsked()).to.be.lessThan(4);
  });

  it('of an account show its data in base58 unless another encoding is requested', async () => {
    const account = Keypair.generate();
    const socket = await openSocket();
    const settings = { commitment: 'processed' };
    await subscribed(socket, 'accountSubscribe', [account.publicKey.toBase58(), settings]);
    const make = SystemProgram.createAccount({
      ...{ fromPubkey: alice.publicKey, newAccountPubkey: account.publicKey, lamports: 1e9, space: 3 },
      programId: SystemProgram.programId,
    });
    await connection.sendRawTransaction(await signed(connection, [alice, account], [make]));
    const found = await socket.next(({ method }) => method === 'accountNotification');
    expect(found).to.have.nested.property('params.result.value.data', '111');
    socket.close();
  });

  it('of data too long for base58 continue', async () => {
    const account = Keypair.generate();
    const socket = await openSocket();
    const settings = { encoding: 'base58', commitment: 'processed' };
    await subscribed(socket, 'accountSubscribe', [account.publicKey.toBase58(), settings]);
    const make = SystemProgram.createAccount({
      ...{ fromPubkey: alice.publicKey, newAccountPubkey: account.publicKey, lamports: 1e9, space: 200 },
      programId: SystemProgram.programId,
    });
    await connection.sendRawTransaction(await signed(connection, [alice, account], [make]));
    const found = await socket.next(({ method }) => method === 'accountNotification');
    expect(JSON.stringify(found)).to.contain('error: data too large for bs58 encoding');
    socket.close();
  });
});

/** Does the work again and again until the condition holds. */
async function eventually(isSo: () => boolean, work: () => void): Promise<void> {
  while (!isSo()) {
    work();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
