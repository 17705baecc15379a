/** The chain in memory on a simulated clock: blocks come by themselves, and sends and answers fail as a spec wants. */
import type { MonotonicClock } from '@coffer/consumers';
import { type Chain, ChainUnreachableError, type ExecutedTransaction, signatureOf } from '@coffer/solana';
import { memoryChain } from '@coffer/solana/testing';

/**
 * The fate of one send. `drop`: accepted and forgotten. `landUnheard`: it lands, but the caller gets no answer. `late`:
 * it lands just before it would expire. `refuse`: not accepted.
 */
export type SendFate = 'land' | 'drop' | 'landUnheard' | 'late' | 'refuse' | 'unreachable';

const BLOCK_MS = 400;
const FINALIZED_DEPTH = 8;
/** A blockhash is valid for 150 blocks. */
const LATE_BLOCKS = 140;

export type SimulatedChain = ReturnType<typeof createSimulatedChain>;

export function createSimulatedChain(clock: MonotonicClock, blockMs = BLOCK_MS) {
  const memory = memoryChain({ finalizedDepth: FINALIZED_DEPTH });
  const sent: string[] = [];
  const faults = {
    send: (_signature: string, _times: number): SendFate => 'land',
    /** Thrown before each call. */
    ask: (_method: keyof Chain): Error | undefined => undefined,
    simulate: (): string | null => null,
    /** The node that reports statuses knows only what is final. */
    lags: false,
  };
  let cancelTick = () => {};
  tick();

  return {
    memory,
    chain: chainPort(),
    faults,
    /** Signatures in the order of their sends. */
    sent,
    /** No more blocks. */
    stop: () => cancelTick(),
    /** Drops the newest blocks, with everything in them. */
    fork: (blocks: number) => memory.fork(Math.min(blocks, FINALIZED_DEPTH), 'isLost'),
    async lamports(address: string): Promise<bigint> {
      const [account] = await memory.accounts([address], 'processed');
      return account?.lamports ?? 0n;
    },
    /** Everything that was sent and executed, including failures, in block order. */
    async executed(): Promise<readonly ExecutedTransaction[]> {
      memory.finalize();
      const found = await Promise.all([...new Set(sent)].map(memory.transaction));
      return found.filter((one) => one !== undefined).sort((one, other) => (one.slot < other.slot ? -1 : 1));
    },
  };

  function tick(): void {
    cancelTick = clock.after(blockMs, () => {
      memory.advance();
      tick();
    });
  }

  function chainPort(): Chain {
    const asked =
      <Question extends readonly unknown[], Answer>(
        method: keyof Chain,
        answer: (...question: Question) => Promise<Answer>,
      ) =>
      async (...question: Question): Promise<Answer> => {
        const error = faults.ask(method);
        if (error) throw error;
        return answer(...question);
      };

    return {
      latestBlockhash: asked('latestBlockhash', memory.latestBlockhash),
      send: asked('send', async (transaction) => {
        const signature = signatureOf(transaction);
        sent.push(signature);
        const fate = faults.send(signature, sent.filter((one) => one === signature).length);
        if (fate === 'unreachable') throw new ChainUnreachableError('No answer.');
        if (fate === 'refuse') return { outcome: 'refused', reason: 'busy' };
        if (fate === 'drop') memory.dropNext();
        if (fate === 'late') memory.delayNext(LATE_BLOCKS);
        if (fate === 'landUnheard') memory.failNext('send', 'after');
        return memory.send(transaction);
      }),
      statuses: asked('statuses', async (signatures) => {
        const known = await memory.statuses(signatures);
        return known.map((status) =>
          faults.lags && status?.commitment !== 'finalized' ? undefined : status,
        );
      }),
      isLost: asked('isLost', memory.isLost),
      simulate: asked('simulate', async (transaction, accounts) => {
        const error = faults.simulate();
        if (error === null) return memory.simulate(transaction, accounts);
        return { error, logs: [], unitsConsumed: 0n, accounts: [] };
      }),
      accounts: asked('accounts', memory.accounts),
      tokenAccountsOf: asked('tokenAccountsOf', memory.tokenAccountsOf),
      rentMinimum: asked('rentMinimum', memory.rentMinimum),
      recentPriorityFee: asked('recentPriorityFee', memory.recentPriorityFee),
      transactionsOf: asked('transactionsOf', memory.transactionsOf),
      transaction: asked('transaction', memory.transaction),
      absence: asked('absence', memory.absence),
      history: asked('history', memory.history),
      close: memory.close,
    };
  }
}

/** What the address gained by it, in lamports. */
export function gainOf(executed: ExecutedTransaction | undefined, wallet: string): bigint {
  const found = executed?.lamports.find(({ address }) => address === wallet);
  return found ? found.after - found.before : 0n;
}
