/** `coffer run` with its own chain: whichever process ends in the middle of a move, the money arrives once. */
import { access, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { newWallet } from '@coffer/auth/testing';
import { callRpc } from '@coffer/embedded-chain/testing';
import { bootstrapFilePath } from '@coffer/portal';
import {
  type BackendClient,
  createBackendClient,
  createPlayerClient,
  type SettledMove,
  type Wallet,
} from '@coffer/sdk';
import { eventually, PATIENCE_MS } from '@coffer/testing';
import { expect } from 'chai';
import { childrenOf, isRunning } from './testing/processTable.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

const SOL = 1;
const ONE_SOL = 1_000_000_000n;
const QUICK = { COFFER_CHAIN_SLOT_MS: '100', COFFER_CHAIN_POLL_MS: '50' };
const NO_STACK = /^\s+at /m;

describe('coffer run, with money on its own chain', () => {
  // The first start makes a database cluster.
  const processes = serviceProcesses();
  let dataFolder: string;
  let service: ServiceProcess;
  let coffer: BackendClient;
  let chainUrl: string;
  let wallet: Wallet;

  const readBootstrap = async () => JSON.parse(await readFile(bootstrapFilePath(dataFolder), 'utf8'));
  async function start(until: 'ready' | 'listening' = 'ready') {
    service = await processes.start({ dataFolder, variables: QUICK, until });
    const { baseUrl, keys, chainUrl: url } = await readBootstrap();
    chainUrl = url;
    coffer = createBackendClient({ baseUrl, secretKey: keys.test.secret });
  }
  const postmasterPid = async () =>
    Number.parseInt(await readFile(join(dataFolder, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);
  const chainPid = async (): Promise<number> => {
    const [pid, ...others] = await childrenOf(service.pid, 'embedded-chain');
    if (pid === undefined || others.length > 0) throw new Error('The service has one chain.');
    return pid;
  };
  const lamportsOf = async (address: string): Promise<bigint> => {
    const answer = await callRpc(chainUrl, 'getBalance', [address, { commitment: 'confirmed' }]);
    return BigInt(String((answer as { readonly value: unknown }).value)); // What is no balance does not parse.
  };
  const move = (kind: 'deposit' | 'withdraw', amount: bigint, ref: string) =>
    coffer.treasury[kind]({ userId: wallet.userId, currency: SOL, amount, ref });
  const settled = (ref: string): Promise<SettledMove> =>
    coffer.treasury.settled(ref, { pollMs: 100, deadlineMs: PATIENCE_MS });
  /** The player's funds: in the wallet and in the books. */
  const funds = async () => {
    const accounts = await coffer.users.accounts(wallet.userId);
    const { available, held } = accounts.find(({ currencyId }) => currencyId === SOL) ?? {};
    return { wallet: await lamportsOf(wallet.address), available, held };
  };

  before(async () => {
    dataFolder = await processes.newDataFolder();
    await start();
    const { baseUrl, keys } = await readBootstrap();
    const player = createPlayerClient({ baseUrl, publishableKey: keys.test.publishable });
    await player.signInWithWallet(newWallet());
    wallet = await player.wallets.me();
    await callRpc(chainUrl, 'requestAirdrop', [wallet.address, 10n * ONE_SOL]);
    await eventually(
      'the airdrop is confirmed',
      async () => (await lamportsOf(wallet.address)) > 0n || undefined,
    );
  });

  it('takes a deposit, signed after the master key was rotated', async () => {
    const rotated = await processes.command(['master-keys', 'rotate', '--env', 'test'], {
      COFFER_DATA_DIR: dataFolder,
      COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    });
    expect(rotated, rotated.stderr).to.include({ exitCode: 0 });
    await eventually(
      'the keys are under the new one',
      async () => service.logs().includes('keys of wallets are under the current master key') || undefined,
    );
    await move('deposit', 4n * ONE_SOL, 'deposit-1');
    expect((await settled('deposit-1')).status).to.equal('confirmed');
    expect(await funds()).to.deep.equal({ wallet: 6n * ONE_SOL, available: 4n * ONE_SOL, held: 0n });
  });

  it('starts the chain again when its process is killed, at the same address, and moves go on', async () => {
    const [pid, url] = [await chainPid(), chainUrl];
    await move('withdraw', ONE_SOL, 'out-1');
    process.kill(pid, 'SIGKILL');
    expect((await settled('out-1')).status).to.equal('confirmed');
    expect(await funds()).to.deep.equal({ wallet: 7n * ONE_SOL, available: 3n * ONE_SOL, held: 0n });
    expect(await chainPid()).not.to.equal(pid);
    expect(await callRpc(url, 'getHealth', [])).to.equal('ok');
  });

  it('leaves no process behind when it is interrupted in the middle of a move', async () => {
    const pids = [await chainPid(), await postmasterPid()];
    await move('deposit', ONE_SOL, 'deposit-2');
    expect(await service.terminate('SIGINT')).to.include({ exitCode: 0, signal: null });
    expect(await Promise.all(pids.map(isRunning))).to.deep.equal([false, false]);
  });

  it('says when the port of the chain is taken, and leaves nothing running', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await eventually('the port is taken', () => squatter.listening || undefined);
    const address = squatter.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const variables = { COFFER_DATA_DIR: dataFolder, PORT: '0', COFFER_CHAIN_PORT: port };
    const end = await processes.command(['run'], variables);
    squatter.close();
    expect(end).to.include({ exitCode: 1, signal: null });
    expect(end.stderr)
      .to.include(`The port ${port} is taken`)
      .and.include('COFFER_CHAIN_PORT')
      .and.not.match(NO_STACK);
    const server = await access(join(dataFolder, 'postgres', 'data', 'postmaster.pid')).catch(
      () => 'stopped',
    );
    expect(server).to.equal('stopped');
  });

  it('has the same balances after the next start, and carries the move to its end', async () => {
    await start();
    expect((await settled('deposit-2')).status).to.equal('confirmed');
    expect(await funds()).to.deep.equal({ wallet: 6n * ONE_SOL, available: 4n * ONE_SOL, held: 0n });
  });

  it('reconciles the books with the chain from the command line: they agree', async () => {
    const { appId } = await readBootstrap();
    const end = await processes.command(['reconcile', '--app', appId, '--env', 'test', '--chain'], {
      COFFER_DATA_DIR: dataFolder,
      COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    });
    expect(end, end.stderr).to.include({ exitCode: 0, signal: null });
    expect(end.stdout)
      .to.match(/^The chain, \S+ \(\w+\)\. Treasury: \w{32,44}\.$/m)
      .and.not.match(/^discrepancies$/m);
  });

  it('leaves no chain behind when it is killed, and goes on at the next start', async () => {
    const pid = await chainPid();
    await move('withdraw', ONE_SOL, 'out-2');
    await service.kill9();
    await start('listening');
    await eventually('the chain has ended by itself', async () => !(await isRunning(pid)) || undefined);
    expect((await settled('out-2')).status).to.equal('confirmed');
    expect(await funds()).to.deep.equal({ wallet: 7n * ONE_SOL, available: 3n * ONE_SOL, held: 0n });
    expect(await coffer.ledger.reconcile()).to.include({ ok: true });
    expect(await service.terminate()).to.include({ exitCode: 0, signal: null });
  });
});
