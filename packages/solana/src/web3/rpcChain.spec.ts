import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import { type Chain, ChainUnreachableError, TransactionUnreadableError } from '../port.ts';
import { NATIVE_MINT, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import { createRpcChain } from './rpcChain.ts';
import { type Manner, type ScriptedNode, scriptedNode } from './scriptedNode.contract.ts';

/** A whole number that a JavaScript number cannot hold: it would be read as ...992. */
const ABOVE_2_53 = 9_007_199_254_740_993n;
const REST_MS = 1_000;
const address = (byte: number) => encodeBase58(Buffer.alloc(32, byte));
const signature = (byte: number) => encodeBase58(Buffer.alloc(64, byte));
const blockhash = JSON.stringify({
  context: { slot: 5 },
  value: { blockhash: address(3), lastValidBlockHeight: 155 },
});

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return expect.fail('It did not fail.');
}

describe('The RPC chain', () => {
  let first: ScriptedNode;
  let second: ScriptedNode;
  let chain: Chain;
  let nowMs: number;

  beforeEach(async () => {
    [first, second] = [await scriptedNode(), await scriptedNode()];
    nowMs = 0;
    chain = createRpcChain({
      urls: [first.url, second.url],
      timeoutMs: 5_000,
      restMs: REST_MS,
      maxAnswerBytes: 100_000,
      nowMs: () => nowMs,
    });
  });

  afterEach(async () => {
    await chain.close();
    expect([first.upgrades(), second.upgrades()]).to.deep.equal([0, 0]);
    await Promise.all([first.close(), second.close()]);
  });

  const both = (method: string, answer: Parameters<ScriptedNode['on']>[1]) => {
    for (const node of [first, second]) node.on(method, answer);
  };

  describe('over several nodes', () => {
    beforeEach(() => both('getLatestBlockhash', blockhash));

    it('asks the first alone while it answers', async () => {
      expect(await chain.latestBlockhash()).to.deep.equal({
        blockhash: address(3),
        lastValidBlockHeight: 155n,
      });
      expect(first.calls).to.deep.equal([
        { method: 'getLatestBlockhash', params: [{ commitment: 'confirmed' }] },
      ]);
      expect(second.calls).to.deep.equal([]);
    });

    const manners: readonly Manner[] = [500, 503, 429, 403, 'breaksOff', 'saysTooMuch', 'leadsElsewhere'];
    for (const manner of manners)
      it(`asks the next one, once, when it meets ${manner}, and lets the node rest`, async () => {
        first.setManner(manner);
        expect((await chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
        expect(first.calls).to.have.length(1);
        await chain.latestBlockhash();
        expect(first.calls).to.have.length(1);
        first.setManner('answers');
        nowMs += REST_MS;
        await chain.latestBlockhash();
        expect([first.calls.length, second.calls.length]).to.deep.equal([2, 2]);
      });

    it('waits for no node longer than it is told', async () => {
      const impatient = createRpcChain({ urls: [first.url, second.url], timeoutMs: 400 });
      first.setManner('hangs');
      expect((await impatient.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
      await impatient.close();
    });

    it('asks the next one where the answer makes no sense, or is a refusal', async () => {
      first.setManner('speaksHtml');
      expect((await chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
      first.setManner('answers');
      for (const answer of ['{"value":{}}', 'null', { code: -32602, message: 'Invalid params' }]) {
        first.on('getLatestBlockhash', answer);
        expect((await chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
      }
      // None of these is a reason to let it rest.
      expect(first.calls).to.have.length(4);
    });

    it('lets a node rest that says that it is behind', async () => {
      first.on('getLatestBlockhash', { code: -32005, message: 'Node is behind by 99 slots' });
      await chain.latestBlockhash();
      await chain.latestBlockhash();
      expect(first.calls).to.have.length(1);
    });

    it('asks those at rest when no other answers', async () => {
      first.setManner(503);
      second.setManner(503);
      expect(await failureOf(chain.latestBlockhash())).to.be.instanceOf(ChainUnreachableError);
      first.setManner('answers');
      expect((await chain.latestBlockhash()).lastValidBlockHeight).to.equal(155n);
    });

    it('says which nodes failed and how, but not where they are', async () => {
      first.setManner(429);
      await second.close();
      const error = await failureOf(chain.latestBlockhash());
      second = await scriptedNode();
      expect(String(error)).to.include('node 1 answered 429').and.include('ECONNREFUSED');
      expect(String(error)).not.to.match(/secret|127\.0\.0\.1/);
    });

    it('asks nothing more once it is closed, and ends what it was asking', async () => {
      first.setManner('hangs');
      second.setManner('hangs');
      const asking = failureOf(chain.latestBlockhash());
      while (first.calls.length === 0) await new Promise(setImmediate);
      await chain.close();
      expect(await asking).to.be.instanceOf(ChainUnreachableError);
      expect(second.calls).to.deep.equal([]);
    });

    it('is not made of no node', () =>
      expect(() => createRpcChain({ urls: [], timeoutMs: 1 })).to.throw('at least one node'));
  });

  describe('sending', () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const accepted = JSON.stringify(signature(1));
    const refused = { code: -32003, message: 'Transaction signature verification failure', data: null };

    it('gives the bytes to every node, to try once without preflight', async () => {
      both('sendTransaction', accepted);
      expect(await chain.send(bytes)).to.deep.equal({ outcome: 'accepted' });
      while (first.calls.length + second.calls.length < 2) await new Promise(setImmediate);
      const config = {
        encoding: 'base64',
        skipPreflight: true,
        preflightCommitment: 'confirmed',
        maxRetries: 0,
      };
      for (const { calls } of [first, second])
        expect(calls).to.deep.equal([{ method: 'sendTransaction', params: ['AQID', config] }]);
    });

    it('is done where one node takes them', async () => {
      second.on('sendTransaction', accepted);
      for (const manner of [503, 'hangs', 'breaksOff'] as const) {
        first.setManner(manner);
        expect(await chain.send(bytes)).to.deep.equal({ outcome: 'accepted' });
      }
      first.setManner('answers');
      first.on('sendTransaction', refused);
      expect(await chain.send(bytes)).to.deep.equal({ outcome: 'accepted' });
    });

    it('is refused where none takes them and one says why', async () => {
      first.setManner(503);
      second.on('sendTransaction', refused);
      expect(await chain.send(bytes)).to.deep.equal({ outcome: 'refused', reason: refused.message });
    });

    it('throws where nobody can say', async () => {
      first.setManner('breaksOff');
      second.on('sendTransaction', { code: -32005, message: 'Node is unhealthy' });
      expect(await failureOf(chain.send(bytes))).to.be.instanceOf(ChainUnreachableError);
    });
  });

  describe('statuses', () => {
    it('come in their order, from the whole history', async () => {
      first.on(
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
      expect(await chain.statuses(asked)).to.deep.equal([
        undefined,
        { slot: 80n, commitment: 'confirmed', error: null },
        { slot: 70n, commitment: 'finalized', error: '{"InstructionError":[3,{"Custom":1}]}' },
        { slot: 71n, commitment: 'processed', error: 'AccountInUse' },
      ]);
      expect(first.calls[0]?.params).to.deep.equal([asked, { searchTransactionHistory: true }]);
    });

    it('are asked for in as many questions as nodes want', async () => {
      first.on('getSignatureStatuses', ([asked]) =>
        JSON.stringify({ context: { slot: 1 }, value: (asked as string[]).map(() => null) }),
      );
      expect(await chain.statuses(Array.from({ length: 300 }, () => signature(1)))).to.have.length(300);
      expect(first.calls.map(({ params: [asked] }) => (asked as string[]).length)).to.deep.equal([256, 44]);
      expect(await chain.statuses([])).to.deep.equal([]);
      expect(first.calls).to.have.length(2);
    });

    it('are believed from no node that answers for others', async () => {
      both('getSignatureStatuses', '{"context":{"slot":1},"value":[]}');
      expect(await failureOf(chain.statuses([signature(1)]))).to.be.instanceOf(ChainUnreachableError);
    });

    const halves = [
      '"slot":70,"confirmations":null',
      '"slot":70,"err":null',
      '"confirmations":null,"err":null',
      '"slot":70,"confirmations":null,"err":7',
      '"slot":70,"confirmations":null,"err":null,"confirmationStatus":"rooted"',
    ];
    for (const half of halves)
      it(`are not made of half an answer: ${half}`, async () => {
        both('getSignatureStatuses', `{"context":{"slot":90},"value":[{${half}}]}`);
        expect(await failureOf(chain.statuses([signature(1)]))).to.be.instanceOf(ChainUnreachableError);
      });
  });

  const account = (lamports: bigint, data: Uint8Array, owner = SYSTEM_PROGRAM) =>
    `{"owner":"${owner}","lamports":${lamports},"data":["${Buffer.from(data).toString('base64')}","base64"],` +
    '"executable":false,"rentEpoch":18446744073709551615,"space":1}';

  describe('accounts', () => {
    it('keep every lamport', async () => {
      first.on(
        'getMultipleAccounts',
        `{"context":{"slot":1},"value":[null,${account(ABOVE_2_53, Uint8Array.of(7))}]}`,
      );
      expect(await chain.accounts([address(1), address(2)], 'finalized')).to.deep.equal([
        undefined,
        {
          address: address(2),
          owner: SYSTEM_PROGRAM,
          lamports: ABOVE_2_53,
          data: Uint8Array.of(7),
          isExecutable: false,
        },
      ]);
      expect(first.calls[0]?.params).to.deep.equal([
        [address(1), address(2)],
        { encoding: 'base64', commitment: 'finalized' },
      ]);
      const rent = ABOVE_2_53 + 2n;
      first.on('getMinimumBalanceForRentExemption', String(rent));
      expect(await chain.rentMinimum(165)).to.equal(rent);
    });

    it('are not fewer than were asked for', async () => {
      both('getMultipleAccounts', '{"context":{"slot":1},"value":[]}');
      expect(await failureOf(chain.accounts([address(1)], 'confirmed'))).to.be.instanceOf(
        ChainUnreachableError,
      );
      const many = Array.from({ length: 101 }, () => address(1));
      expect(await failureOf(chain.accounts(many, 'confirmed'))).to.be.instanceOf(RangeError);
    });

    it('of tokens are those of both programs', async () => {
      const data = (amount: bigint) => {
        const bytes = Buffer.alloc(165);
        bytes.writeBigUInt64LE(amount, 64);
        bytes[108] = 1;
        return bytes;
      };
      const held = (pubkey: string, amount: bigint, program: string) =>
        `{"context":{"slot":1},"value":[{"pubkey":"${pubkey}","account":${account(1n, data(amount), program)}}]}`;
      first.on('getTokenAccountsByOwner', ([, filter]) => {
        const { programId } = filter as { programId: string };
        return held(address(4), programId === TOKEN_PROGRAM ? ABOVE_2_53 : 2n ** 64n - 1n, programId);
      });
      const found = await chain.tokenAccountsOf(address(1), 'finalized');
      expect(found.map(({ program, amount }) => [program, amount])).to.deep.equal([
        [TOKEN_PROGRAM, ABOVE_2_53],
        [TOKEN_2022_PROGRAM, 2n ** 64n - 1n],
      ]);
      expect(first.calls.map(({ params }) => params[2])).to.deep.equal([
        { encoding: 'base64', commitment: 'finalized' },
        { encoding: 'base64', commitment: 'finalized' },
      ]);

      both('getTokenAccountsByOwner', held(address(4), 1n, SYSTEM_PROGRAM));
      expect(await failureOf(chain.tokenAccountsOf(address(1), 'finalized'))).to.be.instanceOf(
        ChainUnreachableError,
      );
    });
  });

  it('asks once a minute what an account must hold, and again where nobody said', async () => {
    const asked = () => first.calls.length;
    first.on('getMinimumBalanceForRentExemption', ([bytes]) => String(Number(bytes) * 10));
    expect(
      await Promise.all([chain.rentMinimum(0), chain.rentMinimum(165), chain.rentMinimum(0)]),
    ).to.deep.equal([0n, 1_650n, 0n]);
    nowMs += 59_999;
    expect(await chain.rentMinimum(165)).to.equal(1_650n);
    expect(asked()).to.equal(2);
    nowMs += 1;
    first.on('getMinimumBalanceForRentExemption', '7');
    expect(await chain.rentMinimum(165)).to.equal(7n);

    both('getMinimumBalanceForRentExemption', '"seven"');
    expect(await failureOf(chain.rentMinimum(170))).to.be.instanceOf(ChainUnreachableError);
    both('getMinimumBalanceForRentExemption', '8');
    expect(await chain.rentMinimum(170)).to.equal(8n);
  });

  it('takes the median of the priority fees, and none for nothing', async () => {
    const fees = (...list: number[]) =>
      JSON.stringify(list.map((prioritizationFee, slot) => ({ slot, prioritizationFee })));
    first.on('getRecentPrioritizationFees', fees(9, 0, 100_000, 0, 10));
    expect(await chain.recentPriorityFee([address(1)])).to.equal(9n);
    expect(first.calls[0]?.params).to.deep.equal([[address(1)]]);
    first.on('getRecentPrioritizationFees', fees());
    expect(await chain.recentPriorityFee([])).to.equal(0n);
  });

  describe('simulating', () => {
    const value = (of: string) => `{"context":{"slot":1},"value":{${of}}}`;

    it('shows the accounts as they would be', async () => {
      first.on(
        'simulateTransaction',
        value(
          `"err":null,"logs":["a"],"unitsConsumed":150,"accounts":[${account(ABOVE_2_53, Buffer.of())},null,${account(0n, Buffer.of())}]`,
        ),
      );
      const addresses = [address(1), address(2), address(3)];
      const { accounts, ...rest } = await chain.simulate(Uint8Array.of(1), addresses);
      expect(rest).to.deep.equal({ error: null, logs: ['a'], unitsConsumed: 150n });
      expect(accounts.map((one) => one?.lamports)).to.deep.equal([ABOVE_2_53, undefined, undefined]);
      expect(first.calls[0]?.params).to.deep.equal([
        'AQ==',
        {
          encoding: 'base64',
          commitment: 'confirmed',
          sigVerify: false,
          accounts: { encoding: 'base64', addresses },
        },
      ]);
    });

    it('shows none where it would fail', async () => {
      const error = '"err":{"InstructionError":[2,{"Custom":1}]}';
      first.on(
        'simulateTransaction',
        value(`${error},"logs":null,"accounts":[${account(5n, Buffer.of())}],"unitsConsumed":0`),
      );
      expect(await chain.simulate(Uint8Array.of(1), [address(1)])).to.deep.equal({
        error: '{"InstructionError":[2,{"Custom":1}]}',
        logs: [],
        unitsConsumed: 0n,
        accounts: [],
      });
      first.on('simulateTransaction', value('"err":"BlockhashNotFound","logs":[],"accounts":null'));
      expect((await chain.simulate(Uint8Array.of(1), [address(1)])).error).to.equal('BlockhashNotFound');
    });

    it('believes no success without the accounts', async () => {
      both('simulateTransaction', value('"err":null,"logs":[],"accounts":null,"unitsConsumed":1'));
      expect(await failureOf(chain.simulate(Uint8Array.of(1), [address(1)]))).to.be.instanceOf(
        ChainUnreachableError,
      );
      expect((await chain.simulate(Uint8Array.of(1), [])).accounts).to.deep.equal([]);
    });
  });

  describe('a transaction', () => {
    const [payer, vault, looked, seen] = [10, 11, 12, 13].map(address);
    const balance = (accountIndex: number, owner: string, amount: string) => ({
      accountIndex,
      mint: NATIVE_MINT,
      owner,
      programId: TOKEN_PROGRAM,
      uiTokenAmount: { amount, decimals: 9, uiAmount: null, uiAmountString: 'x' },
    });
    const meta = {
      err: null,
      fee: 10_000,
      preBalances: [5, 6, 7, 8],
      postBalances: ['LARGE', 6, 7, 8],
      preTokenBalances: [balance(1, address(20), '18446744073709551615')],
      postTokenBalances: [balance(2, address(21), '18446744073709551615')],
      loadedAddresses: { writable: [looked], readonly: [seen] },
    };
    const transaction = (changed: object = {}) =>
      JSON.stringify({
        slot: 77,
        version: 0,
        transaction: {
          signatures: [signature(1), signature(2)],
          message: { header: { numRequiredSignatures: 2 }, accountKeys: [payer, vault] },
        },
        meta: { ...meta, ...changed },
      }).replace('"LARGE"', String(ABOVE_2_53));

    it('shows all its accounts, those from lookup tables as well, to the last unit', async () => {
      first.on('getTransaction', transaction());
      expect(await chain.transaction(signature(1))).to.deep.equal({
        signature: signature(1),
        slot: 77n,
        error: null,
        signers: [payer, vault],
        feeLamports: 10_000n,
        lamports: [
          { address: payer, before: 5n, after: ABOVE_2_53 },
          { address: vault, before: 6n, after: 6n },
          { address: looked, before: 7n, after: 7n },
          { address: seen, before: 8n, after: 8n },
        ],
        tokens: [
          { account: vault, owner: address(20), mint: NATIVE_MINT, before: 2n ** 64n - 1n, after: 0n },
          { account: looked, owner: address(21), mint: NATIVE_MINT, before: 0n, after: 2n ** 64n - 1n },
        ],
      });
      expect(first.calls[0]?.params).to.deep.equal([
        signature(1),
        { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion: 0 },
      ]);
    });

    it('shows an account that went to another owner as two', async () => {
      const [preTokenBalances, postTokenBalances] = [
        [balance(1, address(20), '7')],
        [balance(1, address(21), '7')],
      ];
      first.on('getTransaction', transaction({ preTokenBalances, postTokenBalances }));
      const known = await chain.transaction(signature(1));
      expect(known?.tokens).to.deep.equal([
        { account: vault, owner: address(20), mint: NATIVE_MINT, before: 7n, after: 0n },
        { account: vault, owner: address(21), mint: NATIVE_MINT, before: 0n, after: 7n },
      ]);
    });

    it('is looked for on every node, and is unknown where one of them says so', async () => {
      first.on('getTransaction', 'null');
      second.on('getTransaction', transaction({ err: { InstructionError: [0, 'InvalidArgument'] } }));
      expect((await chain.transaction(signature(1)))?.error).to.equal(
        '{"InstructionError":[0,"InvalidArgument"]}',
      );
      second.setManner(503);
      expect(await chain.transaction(signature(1))).to.equal(undefined);
      first.setManner(503);
      expect(await failureOf(chain.transaction(signature(1)))).to.be.instanceOf(ChainUnreachableError);
    });

    it('is not guessed where balances are missing', async () => {
      for (const changed of [
        { preBalances: [5, 6, 7] },
        { postBalances: [5, 6, 7] },
        { preBalances: [5, 6, 7, 8, 9] },
        { postBalances: [5, 6, 7, 8, 9] },
        { loadedAddresses: null },
        { postTokenBalances: [balance(9, address(20), '1')] },
      ]) {
        both('getTransaction', transaction(changed));
        expect(await failureOf(chain.transaction(signature(1)))).to.be.instanceOf(ChainUnreachableError);
      }
    });

    it('of a form that is newer than ours is told from one that nobody knows', async () => {
      first.on('getTransaction', {
        code: -32015,
        message: 'Transaction version (1) is not supported by the requesting client.',
      });
      second.on('getTransaction', 'null');
      expect(await failureOf(chain.transaction(signature(1)))).to.be.instanceOf(TransactionUnreadableError);
    });
  });

  describe('the transactions of an address', () => {
    const known = (byte: number, slot: number, err: unknown = null) => ({
      signature: signature(byte),
      slot,
      err,
      memo: byte === 1 ? '[5] mov_1' : null,
      blockTime: 1,
    });

    it('are those that any node knows, once each and the newest first', async () => {
      first.on('getSignaturesForAddress', JSON.stringify([known(3, 30), known(2, 20)]));
      second.on('getSignaturesForAddress', JSON.stringify([known(3, 30), known(1, 25, 'AccountInUse')]));
      const page = { limit: 10, before: signature(9), until: signature(8) };
      expect(await chain.transactionsOf(address(1), page)).to.deep.equal([
        { signature: signature(3), slot: 30n, error: null, memo: null },
        { signature: signature(1), slot: 25n, error: 'AccountInUse', memo: '[5] mov_1' },
        { signature: signature(2), slot: 20n, error: null, memo: null },
      ]);
      expect(first.calls[0]?.params).to.deep.equal([address(1), { commitment: 'confirmed', ...page }]);
      expect(await chain.transactionsOf(address(1), { limit: 1 })).to.have.length(1);
    });

    it('need one node that answers', async () => {
      first.setManner(503);
      second.on('getSignaturesForAddress', '[]');
      expect(await chain.transactionsOf(address(1), { limit: 1 })).to.deep.equal([]);
      second.setManner(503);
      expect(await failureOf(chain.transactionsOf(address(1), { limit: 1 }))).to.be.instanceOf(
        ChainUnreachableError,
      );
    });
  });
});
