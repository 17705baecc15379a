/** A chain for specs: in this process, on a free port, with slots that the spec advances. */
import { createEmbeddedChain, type EmbeddedChain, type EmbeddedChainOptions } from '../embeddedChain.ts';
import { parseJson, writeJson } from '../json.ts';

/** As on a cluster: after this many slots a block can no longer be taken back. */
const FINALIZED_AFTER_SLOTS = 32;

export interface ChainWorld extends EmbeddedChain {
  /** Afterwards everything sent before is final. */
  readonly finalize: () => void;
  /** Final when it returns. */
  readonly fund: (address: string, lamports: bigint) => Promise<void>;
  /** Final when it returns; creates the owner's associated account. */
  readonly giveTokens: (owner: string, mint: string, amount: bigint) => Promise<void>;
  /** The result of one method; throws with the code and the message of an error. */
  readonly call: (method: string, params?: readonly unknown[]) => Promise<unknown>;
}

export async function startChainWorld(options: EmbeddedChainOptions = {}): Promise<ChainWorld> {
  const chain = await createEmbeddedChain({
    slotMs: 'byHand',
    finality: { confirmedAfter: 2, finalizedAfter: FINALIZED_AFTER_SLOTS },
    ...options,
  });
  const call = (method: string, params: readonly unknown[] = []) => callRpc(chain.url, method, params);
  const finalize = () => chain.advance(FINALIZED_AFTER_SLOTS);
  return {
    ...chain,
    call,
    finalize,
    async fund(address, lamports) {
      await call('requestAirdrop', [address, lamports]);
      finalize();
    },
    async giveTokens(owner, mint, amount) {
      await call('requestTokenAirdrop', [owner, mint, amount.toString()]);
      finalize();
    },
  };
}

/** Whole numbers that a number cannot hold are bigint. */
export async function callRpc(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: writeJson({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const answer = parseJson(await response.text());
  if (typeof answer !== 'object' || answer === null) throw new Error(`${method} was answered with no object`);
  if ('error' in answer) throw new Error(`${method}: ${writeJson(answer.error)}`);
  return 'result' in answer ? answer.result : undefined;
}
