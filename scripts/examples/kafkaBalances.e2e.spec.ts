/** The example of docs/examples/kafka-balances, run as its README says after money has moved in every way. */
import { readFile } from 'node:fs/promises';
import { newWallet } from '@coffer/auth/testing';
import { callRpc } from '@coffer/embedded-chain/testing';
import { createClient, requireStatus } from '@coffer/host/testing';
import { bootstrapFilePath } from '@coffer/portal';
import { createBackendClient, createPlayerClient, splitPool, type Wallet } from '@coffer/sdk';
import { describeKafka, eventually, PATIENCE_MS } from '@coffer/testing';
import { expect } from 'chai';
import { balancesByTopics } from '../../services/coffer/src/testing/balancesByTopics.ts';
import { OPERATOR_TOKEN, serviceProcesses } from '../../services/coffer/src/testing/serviceProcess.ts';

const [SOL, CHIP] = [1, 2];
const ONE_SOL = 1_000_000_000n;

describeKafka('the example of a consumer of topics', (brokers) => {
  const processes = serviceProcesses();
  const prefix = `balances-${process.pid}`;

  it('rebuilds every balance after play, pools, moves and referrals, and finds the API equal', async () => {
    const dataFolder = await processes.newDataFolder();
    await processes.start({
      dataFolder,
      variables: {
        KAFKA_BROKERS: brokers(),
        COFFER_KAFKA_TOPIC_PREFIX: prefix,
        COFFER_CHAIN_SLOT_MS: '100',
        COFFER_CHAIN_POLL_MS: '50',
      },
      until: 'ready',
    });
    const { appId, baseUrl, keys, chainUrl } = JSON.parse(
      await readFile(bootstrapFilePath(dataFolder), 'utf8'),
    );
    const coffer = createBackendClient({ baseUrl, secretKey: keys.test.secret });
    const operator = createClient({ baseUrl, operatorToken: OPERATOR_TOKEN });

    const signedIn = async (): Promise<Wallet> => {
      const player = createPlayerClient({ baseUrl, publishableKey: keys.test.publishable });
      await player.signInWithWallet(newWallet());
      return player.wallets.me();
    };
    const run = (keyOf: string) =>
      balancesByTopics({ brokers: brokers(), topics: `${prefix}.test`, baseUrl, keys: keyOf });
    // Money has not moved yet, so the topic does not exist: it is waited for.
    const early = run(`${appId}=${keys.test.secret}`);

    const [ann, bob] = [await signedIn(), await signedIn()];
    for (const { userId } of [ann, bob]) {
      const credit = { currency: 'CHIP', amount: '1000', ref: `gift-${userId}` };
      requireStatus(
        await operator.post(`/portal/app/${appId}/test/users/${userId}/accounts/credit`, credit, {
          key: OPERATOR_TOKEN,
        }),
        200,
      );
    }

    // Moves: a deposit, and a cash-out.
    await callRpc(chainUrl, 'requestAirdrop', [ann.address, 5n * ONE_SOL]);
    await eventually('the airdrop is there', async () => {
      const answer = await callRpc(chainUrl, 'getBalance', [ann.address, { commitment: 'confirmed' }]);
      return Number(Object(answer).value) > 0 || undefined;
    });
    for (const [kind, amount] of [
      ['deposit', 3n * ONE_SOL],
      ['withdraw', ONE_SOL],
    ] as const) {
      await coffer.treasury[kind]({ userId: ann.userId, currency: SOL, amount, ref: kind });
      const { status } = await coffer.treasury.settled(kind, { pollMs: 100, deadlineMs: PATIENCE_MS });
      expect(status).to.equal('confirmed');
    }

    // Play: a session that is settled, and one that holds its lock.
    const opened = (lockAmount: bigint) =>
      coffer.ledger.open({ userId: ann.userId, gameCode: 'dice', currency: 'CHIP', lockAmount });
    const { sessionId } = await opened(100n);
    const bet = await coffer.ledger.bet({ sessionId, amount: 40n });
    await coffer.ledger.win({ sessionId, betTransactionUuid: bet.transactionUuid, amount: 90n });
    await coffer.ledger.settle({ sessionId });
    await opened(70n);

    // Pools: one that is settled, one that is refunded, and a stake that waits.
    for (const poolId of ['won', 'void', 'open']) {
      for (const { userId } of [ann, bob])
        await coffer.custody.lock({ poolId, betId: userId, userId, currency: CHIP, amount: 50n });
      for (const { userId } of [ann, bob]) await coffer.custody.confirm({ poolId, betId: userId });
    }
    const { items: stakes } = await coffer.custody.stakes('won', { status: 'confirmed' });
    const { rake, payouts } = splitPool({ stakes, winners: [bob.userId], rakeBps: 500 });
    await coffer.custody.settle({ poolId: 'won', currency: CHIP, rake, payouts });
    await coffer.custody.refund({ poolId: 'void' });
    for (const poolId of ['won', 'void']) await coffer.custody.waitForCredits(poolId);

    // Referrals: a commission, of which a part is withdrawn.
    await coffer.referrals.payout({ userId: bob.userId, currency: CHIP, amount: 25n });
    await coffer.referrals.withdraw({ userId: bob.userId, currency: CHIP, amount: 15n });

    const { stdout: earlyVerdict, stderr: earlyComplaint } = await early;
    expect(earlyVerdict, earlyComplaint).to.match(/^EQUAL: /);

    const verdict = await run(`${appId}=${keys.test.secret}`);
    // Ann has 2 SOL, and 1000 + 50 - 50 chips; Bob 1000 + 50 - 5 + 15.
    const chips = 1_000n + 50n - 50n + 1_000n + 45n + 15n;
    expect(verdict, verdict.stderr).to.deep.include({
      exitCode: 0,
      stdout: `EQUAL: 3 accounts with ${2n * ONE_SOL + chips} base units\n`,
    });

    // Funds stay under the id of a user who was erased.
    requireStatus(
      await operator.post(`/portal/app/${appId}/test/users/${bob.userId}/erase`, {}, { key: OPERATOR_TOKEN }),
      200,
    );
    const afterErasure = await run(`${appId}=${keys.test.secret}`);
    expect(afterErasure.stdout, afterErasure.stderr).to.equal(verdict.stdout);

    // Who knows only another app cannot verify this one.
    const blind = await run(`app_other=${keys.test.secret}`);
    expect(blind.exitCode).to.equal(1);
    expect(blind.stderr).to.include(`COFFER_SECRET_KEYS has no key of ${appId}`);
  });
});
