import { failureOf } from '@coffer/testing';
import { type Connection, Keypair } from '@solana/web3.js';
import { expect } from 'chai';
import { type ChainWorld, callRpc, startChainWorld } from './testing/chainWorld.ts';
import {
  connectionTo,
  fundedKeypair,
  LAMPORTS_PER_SOL,
  signed,
  startWithAlice,
  statusOf,
  transfer,
} from './testing/web3Client.ts';

describe('faults of the embedded chain', () => {
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  beforeEach(async () => {
    ({ world, connection, alice } = await startWithAlice());
  });
  afterEach(() => world.stop());

  const bob = Keypair.generate().publicKey;
  const payment = () => signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
  const send = (wire: Uint8Array) => connection.sendRawTransaction(wire, { skipPreflight: true });
  const isOnChain = async (signature: string) => (await statusOf(connection, signature)) !== undefined;

  it('drop one send, so that the next of the same bytes lands', async () => {
    world.faults.inject({ kind: 'dropSend' });
    const wire = await payment();
    const signature = await send(wire);
    world.advance(5);
    expect(await isOnChain(signature)).to.equal(false);
    await send(wire);
    expect(await isOnChain(signature)).to.equal(true);
  });

  it('drop every send until the transaction has expired', async () => {
    world.faults.inject({ kind: 'dropSend', times: 'always' });
    const wire = await payment();
    const signature = await send(wire);
    await send(wire);
    world.faults.clear();
    world.advance(151);
    await send(wire);
    world.finalize();
    expect(await isOnChain(signature)).to.equal(false);
  });

  it('delay a landing', async () => {
    world.faults.inject({ kind: 'delayLanding', slots: 3 });
    const signature = await send(await payment());
    const sentAt = await connection.getSlot('processed');
    world.advance(2);
    expect(await isOnChain(signature)).to.equal(false);
    world.advance(4);
    expect((await statusOf(connection, signature))?.slot).to.equal(sentAt + 3);
  });

  it('delay a landing for longer than the blockhash lives', async () => {
    world.faults.inject({ kind: 'delayLanding', slots: 151 });
    const signature = await send(await payment());
    world.advance(200);
    expect(await isOnChain(signature)).to.equal(false);
  });

  for (const how of ['reset', '500', '503'] as const) {
    it(`land it and lose the answer: ${how}`, async () => {
      world.faults.inject({ kind: 'loseAnswer', how });
      const wire = await payment();
      const failure = await failureOf(send(wire));
      expect(failure.message).to.match(/fetch failed|500|503/);
      expect(await isOnChain(await send(wire))).to.equal(true);
      expect(await connection.getBalance(bob)).to.equal(1e9);
    });
  }

  it('land it and never answer', async () => {
    world.faults.inject({ kind: 'loseAnswer', how: 'never' });
    const wire = await payment();
    const call = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'sendTransaction' },
      params: [wire.toString('base64'), { encoding: 'base64', skipPreflight: true }],
    });
    const giveUp = new AbortController();
    const asked = failureOf(fetch(world.url, { method: 'POST', body: call, signal: giveUp.signal }));
    while ((await connection.getBalance(bob)) === 0);
    giveUp.abort();
    expect((await asked).name).to.equal('AbortError');
  });

  it('lose the answer of another method', async () => {
    world.faults.inject({ kind: 'loseAnswer', how: '503', method: 'getSlot' });
    expect(await connection.getBlockHeight()).to.be.a('number');
    expect((await failureOf(connection.getSlot())).message).to.contain('503');
    expect(await connection.getSlot()).to.be.a('number');
  });

  it('take a duplicate as if it were new; it lands once', async () => {
    const wire = await payment();
    const signature = await connection.sendRawTransaction(wire);
    world.faults.inject({ kind: 'acceptDuplicate' });
    expect(await connection.sendRawTransaction(wire)).to.equal(signature);
    expect((await failureOf(connection.sendRawTransaction(wire))).message).to.contain(
      'already been processed',
    );
    expect(await connection.getBalance(bob)).to.equal(1e9);
  });

  it('let the node lag: it knows nothing newer', async () => {
    const signature = await send(await payment());
    const [slot, height] = [
      await connection.getSlot('processed'),
      await connection.getBlockHeight('processed'),
    ];
    world.faults.inject({ kind: 'lag', slots: 10 });
    expect(await connection.getSlot('processed')).to.equal(slot - 10);
    expect(await connection.getBlockHeight('processed')).to.equal(height - 10);
    expect(await isOnChain(signature)).to.equal(false);
    expect(await connection.getBalance(bob)).to.equal(0);
    expect(
      (await failureOf(connection.getBalance(bob, { commitment: 'processed', minContextSlot: slot })))
        .message,
    ).to.contain('Minimum context slot');
    expect((await failureOf(callRpc(world.url, 'getHealth', []))).message).to.contain('behind by 10 slots');
    world.advance(10);
    expect(await isOnChain(signature)).to.equal(true);
    world.faults.clear();
    expect(await connection.getSlot('processed')).to.equal(slot + 10);
  });

  it('freeze the block height while slots and landings go on', async () => {
    const height = await connection.getBlockHeight('processed');
    world.faults.inject({ kind: 'freezeHeight' });
    world.advance(200);
    const signature = await send(await payment());
    expect(await connection.getBlockHeight('processed')).to.equal(height);
    expect(await isOnChain(signature)).to.equal(true);
    world.faults.clear();
    expect(await connection.getBlockHeight('processed')).to.equal(height + 200);
  });

  for (const how of ['reset', '503'] as const) {
    it(`let the RPC be down: ${how}`, async () => {
      world.faults.inject({ kind: 'down', how });
      expect((await failureOf(connection.getSlot())).message).to.match(/fetch failed|503/);
      expect((await failureOf(connection.getBlockHeight())).message).to.match(/fetch failed|503/);
      world.faults.clear();
      expect(await connection.getSlot()).to.be.a('number');
    });
  }
});

describe('an observer of faults', () => {
  let world: ChainWorld;
  let onCall: (method: string) => void;
  let effects: string[];
  beforeEach(async () => {
    onCall = () => undefined;
    effects = [];
    world = await startChainWorld({
      faultObserver: { beforeCall: (method) => onCall(method), onEffect: (kind) => effects.push(kind) },
    });
  });
  afterEach(() => world.stop());

  it('is called before each call, and what it injects affects that very call', async () => {
    onCall = (method) => {
      world.faults.clear();
      if (method === 'getSlot') world.faults.inject({ kind: 'loseAnswer', method, how: '503' });
    };
    const connection = connectionTo(world);
    expect(await connection.getBlockHeight()).to.be.a('number');
    expect((await failureOf(connection.getSlot())).message).to.contain('503');
    expect(await connection.getBlockHeight()).to.be.a('number');
    expect(effects).to.deep.equal(['loseAnswer']);
  });

  it('is told of faults that took effect, and of no others', async () => {
    const connection = connectionTo(world);
    const alice = await fundedKeypair(world, 100n);
    const pay = transfer(alice.publicKey, Keypair.generate().publicKey, LAMPORTS_PER_SOL);
    const wire = await signed(connection, [alice], [pay]);
    const send = () => connection.sendRawTransaction(wire, { skipPreflight: true });

    world.faults.inject({ kind: 'acceptDuplicate' });
    world.faults.inject({ kind: 'dropSend' });
    await send();
    expect(effects).to.deep.equal(['dropSend']);
    await send();
    // It is in a block: nothing can drop it now.
    world.faults.inject({ kind: 'dropSend' });
    await send();
    await send();
    expect(effects).to.deep.equal(['dropSend', 'acceptDuplicate']);

    world.faults.clear();
    world.faults.inject({ kind: 'lag', slots: 3 });
    await connection.getSlot();
    world.faults.inject({ kind: 'down', how: '503' });
    await failureOf(connection.getSlot());
    expect(effects.slice(2)).to.deep.equal(['lag', 'down']);
  });
});

describe('faults over HTTP', () => {
  const control = async (url: string, token: string, method: string, params: readonly unknown[]) =>
    fetch(`${url}/control`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });

  it('need the token, and work while the node is down', async () => {
    const world = await startChainWorld({ controlToken: 'of-a-spec' });
    const connection = connectionTo(world);
    expect((await control(world.url, 'of-a-spek', 'clearFaults', [])).status).to.equal(401);
    await control(world.url, 'of-a-spec', 'injectFault', [{ kind: 'down', how: '503' }]);
    expect((await failureOf(connection.getSlot())).message).to.contain('503');
    await control(world.url, 'of-a-spec', 'clearFaults', []);
    const slot = await connection.getSlot('processed');
    await control(world.url, 'of-a-spec', 'advance', [7]);
    expect(await connection.getSlot('processed')).to.equal(slot + 7);
    const refused = await (
      await control(world.url, 'of-a-spec', 'injectFault', [{ kind: 'no such' }])
    ).json();
    expect(refused).to.have.nested.property('error.code', -32602);
    await world.stop();
  });

  it('do not exist if no token was given', async () => {
    const world = await startChainWorld();
    const answer: unknown = await (await control(world.url, '', 'advance', [7])).json();
    expect(answer).to.have.nested.property('error.code', -32601);
    await world.stop();
  });
});
