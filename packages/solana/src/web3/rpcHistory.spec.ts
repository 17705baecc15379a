import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { ChainUnreachableError, TransactionUnreadableError } from '../port.ts';
import { NATIVE_MINT, TOKEN_PROGRAM } from '../programs/ids.ts';
import { ABOVE_2_53, address, signature, useScriptedChain } from '../testing/scriptedChain.ts';
import type { Scripted } from '../testing/scriptedNode.ts';

describe('The RPC chain, asked for the past,', () => {
  const world = useScriptedChain();

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

    it('shows all its accounts, even those from lookup tables, to the last unit', async () => {
      world.first.on('getTransaction', transaction());
      expect(await world.chain.transaction(signature(1))).to.deep.equal({
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
      expect(world.first.calls[0]?.params).to.deep.equal([
        signature(1),
        { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion: 0 },
      ]);
    });

    it('shows an account whose owner changed as two', async () => {
      const [preTokenBalances, postTokenBalances] = [
        [balance(1, address(20), '7')],
        [balance(1, address(21), '7')],
      ];
      world.first.on('getTransaction', transaction({ preTokenBalances, postTokenBalances }));
      const known = await world.chain.transaction(signature(1));
      expect(known?.tokens).to.deep.equal([
        { account: vault, owner: address(20), mint: NATIVE_MINT, before: 7n, after: 0n },
        { account: vault, owner: address(21), mint: NATIVE_MINT, before: 0n, after: 7n },
      ]);
    });

    it('is looked up on every node, and is unknown if one of them says so', async () => {
      world.first.on('getTransaction', 'null');
      world.second.on('getTransaction', transaction({ err: { InstructionError: [0, 'InvalidArgument'] } }));
      expect((await world.chain.transaction(signature(1)))?.error).to.equal(
        '{"InstructionError":[0,"InvalidArgument"]}',
      );
      world.second.setManner(503);
      expect(await world.chain.transaction(signature(1))).to.equal(undefined);
      world.first.setManner(503);
      expect(await failureOf(world.chain.transaction(signature(1)))).to.be.instanceOf(ChainUnreachableError);
    });

    it('is not guessed if balances are missing', async () => {
      for (const changed of [
        { preBalances: [5, 6, 7] },
        { postBalances: [5, 6, 7] },
        { preBalances: [5, 6, 7, 8, 9] },
        { postBalances: [5, 6, 7, 8, 9] },
        { loadedAddresses: null },
        { postTokenBalances: [balance(9, address(20), '1')] },
      ]) {
        world.both('getTransaction', transaction(changed));
        expect(await failureOf(world.chain.transaction(signature(1)))).to.be.instanceOf(
          ChainUnreachableError,
        );
      }
    });

    it('of a newer form than ours is distinguished from one that does not exist', async () => {
      world.first.on('getTransaction', {
        code: -32015,
        message: 'Transaction version (1) is not supported by the requesting client.',
      });
      world.second.on('getTransaction', 'null');
      expect(await failureOf(world.chain.transaction(signature(1)))).to.be.instanceOf(
        TransactionUnreadableError,
      );
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

    it('are those that any node knows, each once, newest first', async () => {
      world.first.on('getSignaturesForAddress', JSON.stringify([known(3, 30), known(2, 20)]));
      world.second.on(
        'getSignaturesForAddress',
        JSON.stringify([known(3, 30), known(1, 25, 'AccountInUse')]),
      );
      const page = { limit: 10, before: signature(9), until: signature(8) };
      expect(await world.chain.transactionsOf(address(1), page)).to.deep.equal([
        { signature: signature(3), slot: 30n, error: null, memo: null },
        { signature: signature(1), slot: 25n, error: 'AccountInUse', memo: '[5] mov_1' },
        { signature: signature(2), slot: 20n, error: null, memo: null },
      ]);
      expect(world.first.calls[0]?.params).to.deep.equal([address(1), { commitment: 'confirmed', ...page }]);
      expect(await world.chain.transactionsOf(address(1), { limit: 1 })).to.have.length(1);
    });

    for (const left of ['signature', 'slot', 'err', 'memo'] as const) {
      it(`are not made from an answer without ${left}`, async () => {
        const { [left]: _, ...rest } = known(3, 30);
        for (const node of [world.first, world.second])
          node.on('getSignaturesForAddress', JSON.stringify([rest]));
        expect(await failureOf(world.chain.transactionsOf(address(1), { limit: 1 }))).to.be.instanceOf(
          ChainUnreachableError,
        );
      });
    }

    it('need only one node that answers', async () => {
      world.first.setManner(503);
      world.second.on('getSignaturesForAddress', '[]');
      expect(await world.chain.transactionsOf(address(1), { limit: 1 })).to.deep.equal([]);
      world.second.setManner(503);
      expect(await failureOf(world.chain.transactionsOf(address(1), { limit: 1 }))).to.be.instanceOf(
        ChainUnreachableError,
      );
    });
  });

  describe('for what nodes do not hold', () => {
    const ONE = signature(9);
    const SLOT = 500n;
    const status = (commitment: string) =>
      `{"context":{"slot":600},"value":[{"slot":500,"confirmations":null,"err":null,"confirmationStatus":"${commitment}"}]}`;
    const NO_STATUS = '{"context":{"slot":600},"value":[null]}';
    const NOT_KEPT = { code: -32011, message: 'Transaction history is not available from this node' };
    const node = (
      which: 'first' | 'second',
      { first, known, finalized = 600 }: { first: number; known: Scripted; finalized?: number },
    ) => {
      world[which].on('getTransaction', 'null');
      world[which].on('getFirstAvailableBlock', String(first));
      world[which].on('getSignatureStatuses', known);
      world[which].on('getSlot', String(finalized));
    };

    it('says that the history is missing if one node knows it as final, whatever the others say', async () => {
      node('first', { first: 1, known: NO_STATUS });
      node('second', { first: 1, known: status('finalized') });
      expect(await world.chain.transaction(ONE)).to.equal(undefined);
      expect(await world.chain.absence(ONE, SLOT)).to.equal('notKept');
    });

    it('says the same if all histories begin after it, or none is kept', async () => {
      node('first', { first: 501, known: NO_STATUS });
      node('second', { first: 400, known: NOT_KEPT });
      expect(await world.chain.absence(ONE, SLOT)).to.equal('notKept');
      world.both('getTransaction', NOT_KEPT);
      expect(await world.chain.transaction(ONE)).to.equal(undefined);
    });

    it('says that there is none if one node goes back far enough and knows of none', async () => {
      node('first', { first: 501, known: NO_STATUS });
      node('second', { first: 500, known: NO_STATUS });
      expect(await world.chain.absence(ONE, SLOT)).to.equal('unknown');
    });

    it('waits for nodes that have not got that far', async () => {
      node('first', { first: 1, known: status('confirmed') });
      node('second', { first: 501, known: NO_STATUS });
      expect(await world.chain.absence(ONE, SLOT)).to.equal('notFinal');
      node('first', { first: 1, known: NO_STATUS, finalized: 499 });
      expect(await world.chain.absence(ONE, SLOT)).to.equal('notFinal');
    });

    it('says nothing if none answers', async () => {
      for (const each of [world.first, world.second]) each.setManner(503);
      expect(await failureOf(world.chain.absence(ONE, SLOT))).to.be.instanceOf(ChainUnreachableError);
      expect(await failureOf(world.chain.history())).to.be.instanceOf(ChainUnreachableError);
    });

    it('tells where the longest history begins, when that was, and how far all have got', async () => {
      node('first', { first: 501, known: NO_STATUS });
      node('second', { first: 400, known: NO_STATUS, finalized: 590 });
      world.both('getBlockTime', ([slot]) => (slot === 400 ? '1700000000' : 'null'));
      const fromAt = new Date(1_700_000_000_000);
      expect(await world.chain.history()).to.deep.equal({ from: 400n, fromAt, to: 590n });
      world.both('getBlockTime', { code: -32601, message: 'Method not found' });
      expect(await world.chain.history()).to.deep.equal({ from: 400n, fromAt: null, to: 590n });
    });
  });
});
