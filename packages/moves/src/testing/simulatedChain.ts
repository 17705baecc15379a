/**
 * A chain that a spec rules over: blocks come by a simulated clock, and sends, answers and blocks go wrong where the
 * spec wants it. It keeps what matters here: a blockhash that ends, commitments, forks, and that one signature is
 * executed once.
 */
import { createHash } from 'node:crypto';
import type { MonotonicClock } from '@coffer/consumers';
import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import {
  type Address,
  type Chain,
  ChainUnreachableError,
  type Commitment,
  type ExecutedTransaction,
  type KnownTransaction,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
} from '@coffer/solana';
import { decodeTransfer, type SentTransfer } from './decodeTransfer.ts';

/**
 * What becomes of one send. `land`: it is in the next block. `drop`: taken and forgotten. `landUnheard`: it lands and
 * the caller hears nothing. `late`: it lands in the last block that may hold it. `refuse`: not taken.
 */
export type SendFate = 'land' | 'drop' | 'landUnheard' | 'late' | 'refuse' | 'unreachable';

export interface SimulatedTokenAccount {
  readonly address: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly isFrozen?: boolean;
}

interface Executed extends SentTransfer {
  readonly error: string | null;
}

/** Shorter than in life (150 and 31), so that specs have less to wait for. */
const BLOCKHASH_LIFE = 30;
const FINALIZED_LAG = 8;
const FEE = 10_000n;
const RENT = { base: 890_880n, byte: 6_960n };

export const addressOf = (name: string): Address => encodeBase58(createHash('sha256').update(name).digest());

export type SimulatedChain = ReturnType<typeof createSimulatedChain>;

export function createSimulatedChain(clock: MonotonicClock, blockMs = 400) {
  /** One list of transactions a block; the height is the index. */
  let blocks: Executed[][] = [[]];
  let pending: { readonly transfer: SentTransfer; readonly atHeight: number }[] = [];
  const heightOfHash = new Map<string, number>();
  const lamportsAtFirst = new Map<Address, bigint>();
  const tokensAtFirst = new Map<Address, SimulatedTokenAccount>();
  const owners = new Map<Address, { readonly owner: Address; readonly data: Uint8Array }>();
  const sent: string[] = [];
  let cancelTick = () => {};
  const faults = {
    send: (_signature: string, _times: number): SendFate => 'land',
    /** Thrown before each question. */
    ask: (_method: keyof Chain): Error | undefined => undefined,
    /** Why the next transaction fails where it is executed. */
    execute: (_transfer: SentTransfer): string | null => null,
    simulate: (): string | null => null,
    /** Blocks by which the nodes' answers lag. */
    lagBlocks: 0,
  };
  tick();

  return {
    chain: chainPort(),
    faults,
    /** Signatures in the order of their sends. */
    sent,
    fund: (address: Address, lamports: bigint) => void lamportsAtFirst.set(address, lamports),
    putTokens: (account: SimulatedTokenAccount) => void tokensAtFirst.set(account.address, account),
    putMint: (mint: Address, decimals: number) => {
      const data = Buffer.alloc(82);
      data.writeUInt8(decimals, 44);
      data.writeUInt8(1, 45);
      owners.set(mint, { owner: TOKEN_PROGRAM, data });
    },
    putProgramAccount: (address: Address) =>
      void owners.set(address, { owner: TOKEN_PROGRAM, data: Buffer.alloc(1) }),
    /** The newest blocks never were, with all that was in them. */
    fork: (count: number) => {
      const kept = Math.max(1, finalizedHeight() + 1, blocks.length - count);
      blocks = [...blocks.slice(0, kept), ...blocks.slice(kept).map(() => [])];
    },
    /** All that is executed, the failed ones as well, on the blocks that count. */
    executed: () => blocks.flat(),
    lamports: (address: Address) => lamportsOf(address, blocks.length),
    tokens: (address: Address) => tokensOf(address, blocks.length),
    height: () => head(),
    /** No block comes any more. */
    stop: () => cancelTick(),
  };

  function head(): number {
    return blocks.length - 1;
  }

  function finalizedHeight(): number {
    return head() - FINALIZED_LAG;
  }

  function tick(): void {
    cancelTick = clock.after(blockMs, () => {
      const height = blocks.length;
      const due = pending.filter(({ atHeight }) => atHeight <= height);
      pending = pending.filter((one) => !due.includes(one));
      blocks.push([]);
      for (const { transfer } of due) execute(transfer, height);
      tick();
    });
  }

  function execute(transfer: SentTransfer, height: number): void {
    const from = heightOfHash.get(transfer.blockhash);
    if (from === undefined || height > from + BLOCKHASH_LIFE) return;
    if (blocks.flat().some(({ signature }) => signature === transfer.signature)) return;
    const holds = transfer.mint === undefined ? lamportsOf : tokensOf;
    const lacks = holds(transfer.from, blocks.length) < transfer.amount;
    const error = faults.execute(transfer) ?? (lacks ? '{"InstructionError":[3,{"Custom":1}]}' : null);
    blocks[height]?.push({ ...transfer, error });
  }

  function lamportsOf(address: Address, upTo: number): bigint {
    let lamports = lamportsAtFirst.get(address) ?? 0n;
    for (const { from, to, mint, amount, error, signers } of blocks.slice(0, upTo).flat()) {
      if (signers[0] === address) lamports -= FEE;
      if (error !== null || mint !== undefined) continue;
      if (from === address) lamports -= amount;
      if (to === address) lamports += amount;
    }
    return lamports;
  }

  function tokensOf(address: Address, upTo: number): bigint {
    let amount = tokensAtFirst.get(address)?.amount ?? 0n;
    for (const one of blocks.slice(0, upTo).flat()) {
      if (one.error !== null || one.mint === undefined) continue;
      if (one.from === address) amount -= one.amount;
      if (one.to === address) amount += one.amount;
    }
    return amount;
  }

  function chainPort(): Chain {
    const ask = async <Value>(method: keyof Chain, answer: () => Value): Promise<Value> => {
      const error = faults.ask(method);
      if (error) throw error;
      return answer();
    };
    const seen = () => head() - faults.lagBlocks;

    return {
      latestBlockhash: () =>
        ask('latestBlockhash', () => {
          const height = seen();
          const blockhash = addressOf(`block ${height}`);
          heightOfHash.set(blockhash, height);
          return { blockhash, lastValidBlockHeight: BigInt(height + BLOCKHASH_LIFE) };
        }),
      send: (transaction) =>
        ask('send', () => {
          const transfer = decodeTransfer(transaction);
          const { signature } = transfer;
          sent.push(signature);
          const fate = faults.send(signature, sent.filter((one) => one === signature).length);
          const last = (heightOfHash.get(transfer.blockhash) ?? 0) + BLOCKHASH_LIFE;
          if (fate === 'land' || fate === 'landUnheard') pending.push({ transfer, atHeight: 0 });
          if (fate === 'late') pending.push({ transfer, atHeight: last });
          if (fate === 'landUnheard' || fate === 'unreachable') throw new ChainUnreachableError('No answer.');
          return fate === 'refuse' ? { outcome: 'refused', reason: 'busy' } : { outcome: 'accepted' };
        }),
      statuses: (signatures) =>
        ask('statuses', () =>
          signatures.map((signature) => {
            const height = blocks.findIndex((block) => block.some((one) => one.signature === signature));
            if (height < 0 || height > seen()) return undefined;
            const error = blocks[height]?.find((one) => one.signature === signature)?.error ?? null;
            return { slot: BigInt(height), commitment: commitmentOf(height), error };
          }),
        ),
      isLost: (signature, lastValidBlockHeight) =>
        ask('isLost', () => {
          const isPast = BigInt(finalizedHeight() - faults.lagBlocks) > lastValidBlockHeight;
          return isPast && !blocks.flat().some((one) => one.signature === signature);
        }),
      simulate: () =>
        ask('simulate', () => ({ error: faults.simulate(), logs: [], unitsConsumed: 1n, accounts: [] })),
      accounts: (addresses) => ask('accounts', () => addresses.map((address) => accountAt(address, seen()))),
      tokenAccountsOf: () => ask('tokenAccountsOf', () => []),
      rentMinimum: (bytes) => ask('rentMinimum', () => RENT.base + RENT.byte * BigInt(bytes)),
      recentPriorityFee: () => ask('recentPriorityFee', () => 10n ** 12n),
      transactionsOf: (address, { limit, before }) =>
        ask('transactionsOf', () => {
          const known = blocks
            .slice(0, seen() + 1)
            .flatMap((block, height) => block.map((one) => ({ ...one, height })))
            .filter(({ addresses }) => addresses.includes(address))
            .reverse();
          const from = known.findIndex(({ signature }) => signature === before) + 1;
          return known.slice(from, from + limit).map(
            ({ signature, height, error }): KnownTransaction => ({
              signature,
              slot: BigInt(height),
              error,
              memo: null,
            }),
          );
        }),
      transaction: (signature) => ask('transaction', () => executedAs(signature)),
      close: async () => {},
    };

    function commitmentOf(height: number): Commitment {
      if (height <= finalizedHeight() - faults.lagBlocks) return 'finalized';
      return height < seen() ? 'confirmed' : 'processed';
    }
  }

  function accountAt(address: Address, height: number) {
    const kept = owners.get(address);
    const common = { address, isExecutable: false };
    if (kept) return { ...common, ...kept, lamports: RENT.base };
    const token = tokensAtFirst.get(address);
    if (token) {
      const amount = tokensOf(address, height + 1);
      return { ...common, owner: TOKEN_PROGRAM, lamports: RENT.base, data: tokenData({ ...token, amount }) };
    }
    const lamports = lamportsOf(address, height + 1);
    return lamports === 0n
      ? undefined
      : { ...common, owner: SYSTEM_PROGRAM, lamports, data: new Uint8Array() };
  }

  function executedAs(signature: string): ExecutedTransaction | undefined {
    const height = blocks.findIndex((block) => block.some((one) => one.signature === signature));
    const executed = blocks[height]?.find((one) => one.signature === signature);
    if (!executed || height > finalizedHeight() - faults.lagBlocks) return undefined;
    const { signers, addresses, error, mint, from, to, amount } = executed;
    const isMoved = error === null && mint === undefined;
    const gain = (address: Address) =>
      (isMoved && address === to ? amount : 0n) -
      (isMoved && address === from ? amount : 0n) -
      (address === signers[0] ? FEE : 0n);
    const gains = (address: Address, by: bigint) => ({ address, before: 10n ** 12n, after: 10n ** 12n + by });
    return {
      signature,
      slot: BigInt(height),
      error,
      signers,
      feeLamports: FEE,
      lamports: addresses.map((address) => gains(address, gain(address))),
      tokens:
        mint === undefined || error !== null
          ? []
          : ([from, to] as const).map((account) => ({
              account,
              owner: tokensAtFirst.get(account)?.owner ?? '',
              mint,
              before: 10n ** 12n,
              after: 10n ** 12n + (account === to ? amount : -amount),
            })),
    };
  }
}

function tokenData({ mint, owner, amount, isFrozen = false }: SimulatedTokenAccount): Uint8Array {
  const data = Buffer.alloc(165);
  bytesOf(mint).copy(data, 0);
  bytesOf(owner).copy(data, 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(isFrozen ? 2 : 1, 108);
  return data;
}

const bytesOf = (address: Address): Buffer => Buffer.from(decodeBase58Address(address) ?? []);
