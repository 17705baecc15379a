import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { ChainUnreachableError } from '../port.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import { ABOVE_2_53, address, REST_MS, signature, useScriptedChain } from '../testing/scriptedChain.ts';
import { type Manner, scriptedNode } from '../testing/scriptedNode.ts';
import { createRpcChain } from './rpcChain.ts';

const blockhash = JSON.stringify({
  context: { slot: 5 },
  value: { blockhash: address(3), lastValidBlockHeight: 155 },
});

describe('The RPC chain', () => {
  const world = useScriptedChain();

  describe('over several nodes', () => {
    beforeEach(() => world.both('getLatestBlockhash', blockhash));

    it('asks only the first while it answers', async () => {
      expect(await world.chain.latestBlockhash()).to.deep.equal({
        blockhash: address(3),
        lastValidBlockHeight: 155n,
      });
      expect(world.first.calls).to.deep.equal([
        { method: 'getLatestBlockhash', params: [{ commitment: 'confirmed' }] },
      ]);
      expect(world.second.calls).to.deep.equal([]);
    });

    const manners: readonly Manner[] = [500, 503, 429, 403, 'breaksOff', 'saysTooMuch', 'leadsElsewhere'];
    for (const manner of manners)
      it(`asks the next one once after ${manner}, and lets the node rest`, async () => {
        world.first.setManner(manner);
        expect((await world.chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
        expect(world.first.calls).to.have.length(1);
        await world.chain.latestBlockhash();
        expect(world.first.calls).to.have.length(1);
        world.first.setManner('answers');
        world.nowMs += REST_MS;
        await world.chain.latestBlockhash();
        expect([world.first.calls.length, world.second.calls.length]).to.deep.equal([2, 2]);
      });

    it('waits for no node longer than configured', async () => {
      const impatient = createRpcChain({ urls: [world.first.url, world.second.url], timeoutMs: 400 });
      world.first.setManner('hangs');
      expect((await impatient.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
      await impatient.close();
    });

    it('asks the next one if the answer makes no sense or is a refusal', async () => {
      world.first.setManner('speaksHtml');
      expect((await world.chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
      world.first.setManner('answers');
      for (const answer of ['{"value":{}}', 'null', { code: -32602, message: 'Invalid params' }]) {
        world.first.on('getLatestBlockhash', answer);
        expect((await world.chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
      }
      // None of these is a reason to rest the node.
      expect(world.first.calls).to.have.length(4);
    });

    it('lets a node rest if it says that it is behind', async () => {
      world.first.on('getLatestBlockhash', { code: -32005, message: 'Node is behind by 99 slots' });
      await world.chain.latestBlockhash();
      await world.chain.latestBlockhash();
      expect(world.first.calls).to.have.length(1);
    });

    it('asks resting nodes if no other answers', async () => {
      world.first.setManner(503);
      world.second.setManner(503);
      expect(await failureOf(world.chain.latestBlockhash())).to.be.instanceOf(ChainUnreachableError);
      world.first.setManner('answers');
      expect((await world.chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
    });

    it('says which nodes failed and how, but not where they are', async () => {
      world.first.setManner(429);
      await world.second.close();
      const error = await failureOf(world.chain.latestBlockhash());
      world.second = await scriptedNode();
      expect(String(error)).to.include('node 1 answered 429').and.include('ECONNREFUSED');
      expect(String(error)).not.to.match(/secret|127\.0\.0\.1/);
    });

    it('sends nothing once it is closed, and ends calls in progress', async () => {
      world.first.setManner('hangs');
      world.second.setManner('hangs');
      const asking = failureOf(world.chain.latestBlockhash());
      while (world.first.calls.length === 0) await new Promise(setImmediate);
      await world.chain.close();
      expect(await asking).to.be.instanceOf(ChainUnreachableError);
      expect(world.second.calls).to.deep.equal([]);
    });

    it('needs at least one node', () =>
      expect(() => createRpcChain({ urls: [], timeoutMs: 1 })).to.throw('at least one node'));
  });

  describe('sending', () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const accepted = JSON.stringify(signature(1));
    const refused = { code: -32003, message: 'Transaction signature verification failure', data: null };

    it('gives the bytes to every node, to try once without preflight', async () => {
      world.both('sendTransaction', accepted);
      expect(await world.chain.send(bytes)).to.deep.equal({ outcome: 'accepted' });
      while (world.first.calls.length + world.second.calls.length < 2) await new Promise(setImmediate);
      const config = {
        encoding: 'base64',
        skipPreflight: true,
        preflightCommitment: 'confirmed',
        maxRetries: 0,
      };
      for (const { calls } of [world.first, world.second])
        expect(calls).to.deep.equal([{ method: 'sendTransaction', params: ['AQID', config] }]);
    });

    it('succeeds if one node accepts them', async () => {
      world.second.on('sendTransaction', accepted);
      for (const manner of [503, 'hangs', 'breaksOff'] as const) {
        world.first.setManner(manner);
        expect(await world.chain.send(bytes)).to.deep.equal({ outcome: 'accepted' });
      }
      world.first.setManner('answers');
      world.first.on('sendTransaction', refused);
      expect(await world.chain.send(bytes)).to.deep.equal({ outcome: 'accepted' });
    });

    it('is refused if none accepts them and one says why', async () => {
      world.first.setManner(503);
      world.second.on('sendTransaction', refused);
      expect(await world.chain.send(bytes)).to.deep.equal({ outcome: 'refused', reason: refused.message });
    });

    it('throws if no node can say', async () => {
      world.first.setManner('breaksOff');
      world.second.on('sendTransaction', { code: -32005, message: 'Node is unhealthy' });
      expect(await failureOf(world.chain.send(bytes))).to.be.instanceOf(ChainUnreachableError);
    });
  });

  describe('statuses', () => {
    it('come in their order, from the whole history', async () => {
      world.first.on(
        'getSignatureStatuses',
        JSON.stringify({
          context: { slot: 90 },
          value: [
            null,
            { slot: 80, confirmations: 3, err: null, confirmationStatus: 'confirmed' },
            { slot: 70, confirmations: null, err: { InstructionError: [3, { Custom: 1 }] } },
            { slot: 71, confirmations: 0, err: 'AccountInUse', confirmationStatus: 'processed' },
          ],
        }),
      );
      const asked = [1, 2, 3, 4].map(signature);
      expect(await world.chain.statuses(asked)).to.deep.equal([
        undefined,
        { slot: 80n, commitment: 'confirmed', error: null },
        { slot: 70n, commitment: 'finalized', error: '{"InstructionError":[3,{"Custom":1}]}' },
        { slot: 71n, commitment: 'processed', error: 'AccountInUse' },
      ]);
      expect(world.first.calls[0]?.params).to.deep.equal([asked, { searchTransactionHistory: true }]);
    });

    it('are requested in as many calls as nodes require', async () => {
      world.first.on('getSignatureStatuses', ([asked]) =>
        JSON.stringify({ context: { slot: 1 }, value: (asked as string[]).map(() => null) }),
      );
      expect(await world.chain.statuses(Array.from({ length: 300 }, () => signature(1)))).to.have.length(300);
      expect(world.first.calls.map(({ params: [asked] }) => (asked as string[]).length)).to.deep.equal([
        256, 44,
      ]);
      expect(await world.chain.statuses([])).to.deep.equal([]);
      expect(world.first.calls).to.have.length(2);
    });

    it('are not accepted from a node that answers about others', async () => {
      world.both('getSignatureStatuses', '{"context":{"slot":1},"value":[]}');
      expect(await failureOf(world.chain.statuses([signature(1)]))).to.be.instanceOf(ChainUnreachableError);
    });

    const halves = [
      '"slot":70,"confirmations":null',
      '"slot":70,"err":null',
      '"confirmations":null,"err":null',
      '"slot":70,"confirmations":null,"err":7',
      '"slot":70,"confirmations":null,"err":null,"confirmationStatus":"rooted"',
    ];
    for (const half of halves)
      it(`are not made from an incomplete answer: ${half}`, async () => {
        world.both('getSignatureStatuses', `{"context":{"slot":90},"value":[{${half}}]}`);
        expect(await failureOf(world.chain.statuses([signature(1)]))).to.be.instanceOf(ChainUnreachableError);
      });
  });

  const account = (lamports: bigint, data: Uint8Array, owner = SYSTEM_PROGRAM) =>
    `{"owner":"${owner}","lamports":${lamports},"data":["${Buffer.from(data).toString('base64')}","base64"],` +
    '"executable":false,"rentEpoch":18446744073709551615,"space":1}';

  describe('accounts', () => {
    it('keep every lamport', async () => {
      world.first.on(
        'getMultipleAccounts',
        `{"context":{"slot":1},"value":[null,${account(ABOVE_2_53, Uint8Array.of(7))}]}`,
      );
      expect(await world.chain.accounts([address(1), address(2)], 'finalized')).to.deep.equal([
        undefined,
        {
          address: address(2),
          owner: SYSTEM_PROGRAM,
          lamports: ABOVE_2_53,
          data: Uint8Array.of(7),
          isExecutable: false,
        },
      ]);
      expect(world.first.calls[0]?.params).to.deep.equal([
        [address(1), address(2)],
        { encoding: 'base64', commitment: 'finalized' },
      ]);
      const rent = ABOVE_2_53 + 2n;
      world.first.on('getMinimumBalanceForRentExemption', String(rent));
      expect(await world.chain.rentMinimum(165)).to.equal(rent);
    });

    it('are never fewer than requested', async () => {
      world.both('getMultipleAccounts', '{"context":{"slot":1},"value":[]}');
      expect(await failureOf(world.chain.accounts([address(1)], 'confirmed'))).to.be.instanceOf(
        ChainUnreachableError,
      );
      const many = Array.from({ length: 101 }, () => address(1));
      expect(await failureOf(world.chain.accounts(many, 'confirmed'))).to.be.instanceOf(RangeError);
    });

    it('of tokens include both programs', async () => {
      const data = (amount: bigint) => {
        const bytes = Buffer.alloc(165);
        bytes.writeBigUInt64LE(amount, 64);
        bytes[108] = 1;
        return bytes;
      };
      const held = (pubkey: string, amount: bigint, program: string) =>
        `{"context":{"slot":1},"value":[{"pubkey":"${pubkey}","account":${account(1n, data(amount), program)}}]}`;
      world.first.on('getTokenAccountsByOwner', ([, filter]) => {
        const { programId } = filter as { programId: string };
        return held(address(4), programId === TOKEN_PROGRAM ? ABOVE_2_53 : 2n ** 64n - 1n, programId);
      });
      const found = await world.chain.tokenAccountsOf(address(1), 'finalized');
      expect(found.map(({ program, amount }) => [program, amount])).to.deep.equal([
        [TOKEN_PROGRAM, ABOVE_2_53],
        [TOKEN_2022_PROGRAM, 2n ** 64n - 1n],
      ]);
      expect(world.first.calls.map(({ params }) => params[2])).to.deep.equal([
        { encoding: 'base64', commitment: 'finalized' },
        { encoding: 'base64', commitment: 'finalized' },
      ]);

      world.both('getTokenAccountsByOwner', held(address(4), 1n, SYSTEM_PROGRAM));
      expect(await failureOf(world.chain.tokenAccountsOf(address(1), 'finalized'))).to.be.instanceOf(
        ChainUnreachableError,
      );
    });
  });

  it('asks once a minute what an account must hold, and again if no node answered', async () => {
    const asked = () => world.first.calls.length;
    world.first.on('getMinimumBalanceForRentExemption', ([bytes]) => String(Number(bytes) * 10));
    expect(
      await Promise.all([
        world.chain.rentMinimum(0),
        world.chain.rentMinimum(165),
        world.chain.rentMinimum(0),
      ]),
    ).to.deep.equal([0n, 1_650n, 0n]);
    world.nowMs += 59_999;
    expect(await world.chain.rentMinimum(165)).to.equal(1_650n);
    expect(asked()).to.equal(2);
    world.nowMs += 1;
    world.first.on('getMinimumBalanceForRentExemption', '7');
    expect(await world.chain.rentMinimum(165)).to.equal(7n);

    world.both('getMinimumBalanceForRentExemption', '"seven"');
    expect(await failureOf(world.chain.rentMinimum(170))).to.be.instanceOf(ChainUnreachableError);
    world.both('getMinimumBalanceForRentExemption', '8');
    expect(await world.chain.rentMinimum(170)).to.equal(8n);
  });

  it('uses the median of the priority fees, and zero if there are none', async () => {
    const fees = (...list: number[]) =>
      JSON.stringify(list.map((prioritizationFee, slot) => ({ slot, prioritizationFee })));
    world.first.on('getRecentPrioritizationFees', fees(9, 0, 100_000, 0, 10));
    expect(await world.chain.recentPriorityFee([address(1)])).to.equal(9n);
    expect(world.first.calls[0]?.params).to.deep.equal([[address(1)]]);
    world.first.on('getRecentPrioritizationFees', fees());
    expect(await world.chain.recentPriorityFee([])).to.equal(0n);
  });

  describe('simulating', () => {
    const value = (of: string) => `{"context":{"slot":1},"value":{${of}}}`;

    it('shows the accounts as they would be', async () => {
      world.first.on(
        'simulateTransaction',
        value(
          `"err":null,"logs":["a"],"unitsConsumed":150,"accounts":[${account(ABOVE_2_53, Buffer.of())},null,${account(0n, Buffer.of())}]`,
        ),
      );
      const addresses = [address(1), address(2), address(3)];
      const { accounts, ...rest } = await world.chain.simulate(Uint8Array.of(1), addresses);
      expect(rest).to.deep.equal({ error: null, logs: ['a'], unitsConsumed: 150n });
      expect(accounts.map((one) => one?.lamports)).to.deep.equal([ABOVE_2_53, undefined, undefined]);
      expect(world.first.calls[0]?.params).to.deep.equal([
        'AQ==',
        {
          encoding: 'base64',
          commitment: 'confirmed',
          sigVerify: false,
          accounts: { encoding: 'base64', addresses },
        },
      ]);
    });

    it('shows none if it would fail', async () => {
      const error = '"err":{"InstructionError":[2,{"Custom":1}]}';
      world.first.on(
        'simulateTransaction',
        value(`${error},"logs":null,"accounts":[${account(5n, Buffer.of())}],"unitsConsumed":0`),
      );
      expect(await world.chain.simulate(Uint8Array.of(1), [address(1)])).to.deep.equal({
        error: '{"InstructionError":[2,{"Custom":1}]}',
        logs: [],
        unitsConsumed: 0n,
        accounts: [],
      });
      world.first.on('simulateTransaction', value('"err":"BlockhashNotFound","logs":[],"accounts":null'));
      expect((await world.chain.simulate(Uint8Array.of(1), [address(1)])).error).to.equal(
        'BlockhashNotFound',
      );
    });

    it('does not believe a success without the accounts', async () => {
      world.both('simulateTransaction', value('"err":null,"logs":[],"accounts":null,"unitsConsumed":1'));
      expect(await failureOf(world.chain.simulate(Uint8Array.of(1), [address(1)]))).to.be.instanceOf(
        ChainUnreachableError,
      );
      expect((await world.chain.simulate(Uint8Array.of(1), [])).accounts).to.deep.equal([]);
    });
  });
});
