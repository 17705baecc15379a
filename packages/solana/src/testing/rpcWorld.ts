/** A contract world for any node with a faucet: an embedded chain, a test validator, a test cluster. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createInitializeMint2Instruction, createMintToInstruction, MINT_SIZE } from '@solana/spl-token';
import { Connection, PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import type { ChainWorld } from '../chain.contract.ts';
import type { Address, Chain } from '../port.ts';
import type { Instruction } from '../programs/instruction.ts';
import { createAssociatedAccountIdempotent } from '../programs/token.ts';
import { associatedTokenAddress } from '../web3/addresses.ts';
import { compile, signatureOf } from '../web3/buildTransfer.ts';
import { createRpcChain } from '../web3/rpcChain.ts';
import { type TestWallet, testWallet } from './testWallet.ts';

const POLL_MS = 100;
const DECIMALS = 6;
const SOL = 1_000_000_000n;

const ours = ({ programId, keys, data }: TransactionInstruction): Instruction => ({
  programId: programId.toBase58(),
  accounts: keys.map(({ pubkey, isSigner, isWritable }) => ({
    address: pubkey.toBase58(),
    isSigner,
    isWritable,
  })),
  data,
});

/** `goOn` is called while something is awaited. */
export async function rpcWorld(
  url: string,
  tokenProgram: Address,
  goOn: () => Promise<void> | void = () => pause(POLL_MS),
): Promise<ChainWorld> {
  const runId = randomBytes(8).toString('hex');
  const chain = createRpcChain({ urls: [url], timeoutMs: 10_000 });
  const faucet = new Connection(url, { disableRetryOnRateLimit: true });

  const until: ChainWorld['until'] = async (isReached) => {
    while (!(await isReached())) await goOn();
  };
  const fund: ChainWorld['fund'] = async (address, lamports) => {
    await faucet.requestAirdrop(new PublicKey(address), Number(lamports));
    await until(async () => (await chain.accounts([address], 'finalized'))[0] !== undefined);
  };

  const mint = testWallet(`${runId} mint`);
  const authority = testWallet(`${runId} authority`);
  await fund(authority.address, SOL);
  const carryOut = (instructions: readonly Instruction[], signers: readonly TestWallet[]) =>
    carriedOut(chain, until, authority, instructions, signers);
  await carryOut(
    [
      ours(
        SystemProgram.createAccount({
          fromPubkey: new PublicKey(authority.address),
          newAccountPubkey: new PublicKey(mint.address),
          lamports: Number(await chain.rentMinimum(MINT_SIZE)),
          space: MINT_SIZE,
          programId: new PublicKey(tokenProgram),
        }),
      ),
      ours(
        createInitializeMint2Instruction(
          new PublicKey(mint.address),
          DECIMALS,
          new PublicKey(authority.address),
          null,
          new PublicKey(tokenProgram),
        ),
      ),
    ],
    [mint],
  );

  const give = async (owner: Address, amount: bigint) => {
    const address = associatedTokenAddress(owner, mint.address, tokenProgram);
    const account = { payer: authority.address, address, owner, mint: mint.address, program: tokenProgram };
    const minted = createMintToInstruction(
      new PublicKey(mint.address),
      new PublicKey(address),
      new PublicKey(authority.address),
      amount,
      [],
      new PublicKey(tokenProgram),
    );
    await carryOut([createAssociatedAccountIdempotent(account), ours(minted)], []);
  };
  return {
    chain,
    fund,
    token: { mint: { address: mint.address, program: tokenProgram, decimals: DECIMALS }, give },
    until,
    runId,
    close: chain.close,
  };
}

async function carriedOut(
  chain: Chain,
  until: ChainWorld['until'],
  payer: TestWallet,
  instructions: readonly Instruction[],
  others: readonly TestWallet[],
): Promise<void> {
  const { blockhash } = await chain.latestBlockhash();
  const { message, signers, withSignatures } = compile(payer.address, blockhash, instructions);
  const wallets = new Map([payer, ...others].map((wallet) => [wallet.address, wallet]));
  const wire = withSignatures(
    signers.map((signer) => {
      const wallet = wallets.get(signer);
      if (!wallet) throw new Error(`${signer} has no key here.`);
      return wallet.sign(message);
    }),
  );
  await chain.send(wire);
  await until(async () => {
    const [status] = await chain.statuses([signatureOf(wire)]);
    if (status?.error) throw new Error(`It failed: ${status.error}`);
    return status?.commitment === 'finalized';
  });
}
