/**
 * One node and its JSON-RPC over HTTP: one request, one answer, bounded in time and size. Nothing is retried here and no
 * socket stays open for subscriptions. Why not by web3.js's `Connection`: docs/adr/0018-chain-port.md.
 */
import { z } from 'zod';
import { parseLosslessJson } from './losslessJson.ts';

/** It did not answer, or not in JSON-RPC: the requested action may or may not have happened. */
export class NodeSilentError extends Error {
  override readonly name = 'NodeSilentError';
}

/** It answered with a refusal, and this code. */
export class NodeRefusalError extends Error {
  override readonly name = 'NodeRefusalError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface RpcNode {
  /** For errors and logs. Not its address: providers put their customers' keys there. */
  readonly name: string;
  /** Also throws if the result has an unexpected form. */
  readonly call: <T>(method: string, params: readonly unknown[], result: z.ZodType<T>) => Promise<T>;
}

export interface RpcNodeOptions {
  readonly name: string;
  readonly url: string;
  /** For one request, to the last byte of its answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly signal: AbortSignal;
}

const answer = z.union([
  z.object({ error: z.object({ code: z.int(), message: z.string() }) }),
  z.object({ result: z.unknown() }),
]);

export function rpcNode(options: RpcNodeOptions): RpcNode {
  return {
    name: options.name,
    async call(method, params, result) {
      const text = await post(options, JSON.stringify({ jsonrpc: '2.0', id: '1', method, params }));
      const parsed = answer.parse(parseLosslessJson(text));
      if ('error' in parsed) throw new NodeRefusalError(parsed.error.code, parsed.error.message);
      return result.parse(parsed.result);
    },
  };
}

async function post(options: RpcNodeOptions, body: string): Promise<string> {
  const { name, url, timeoutMs, signal } = options;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      // A node is one address. A redirect leads to a sign-in page or is a mistake.
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new NodeSilentError(`${name} answered ${response.status}.`);
    }
    return await textOf(response, options);
  } catch (error) {
    if (error instanceof NodeSilentError) throw error;
    // Messages of fetch may contain the address; the code of their cause does not.
    throw new NodeSilentError(`${name} did not answer: ${reasonOf(error)}.`);
  }
}

async function textOf(response: Response, { name, maxAnswerBytes }: RpcNodeOptions): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes)
      throw new NodeSilentError(`${name} answered more than ${maxAnswerBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { cause } = error;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name;
}
