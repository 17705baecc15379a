/** JSON-RPC 2.0 over the methods. */
import { AnswerLost } from '../faults.ts';
import { parseJson, writeJson } from '../json.ts';
import { accountMethods } from './accountMethods.ts';
import { blockMethods } from './blockMethods.ts';
import { chainMethods } from './chainMethods.ts';
import type { Method, RpcContext } from './context.ts';
import {
  internalError,
  invalidParams,
  invalidRequest,
  methodNotFound,
  parseError,
  RpcError,
} from './errors.ts';
import { faucetMethods } from './faucetMethods.ts';
import { Params } from './params.ts';
import { transactionMethods } from './transactionMethods.ts';

export const METHODS: Readonly<Record<string, Method>> = {
  ...accountMethods,
  ...blockMethods,
  ...chainMethods,
  ...faucetMethods,
  ...transactionMethods,
};
const MAXIMUM_BATCH = 100;

export interface Rpc {
  /** The text to answer with; undefined if there is nothing to answer. */
  readonly answer: (body: string) => Promise<string | undefined>;
}

interface Request {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

/** One request, or a batch. Throws if the text is neither. */
function readRequests(body: string): { readonly requests: readonly unknown[]; readonly isBatch: boolean } {
  let request: unknown;
  try {
    request = parseJson(body);
  } catch {
    throw parseError();
  }
  if (!Array.isArray(request)) return { requests: [request], isBatch: false };
  if (request.length === 0 || request.length > MAXIMUM_BATCH) throw invalidRequest();
  return { requests: request, isBatch: true };
}

function readCall({ method, params }: Request): { readonly method: string; readonly params: Params } {
  if (typeof method !== 'string') throw invalidRequest();
  if (params !== undefined && params !== null && !Array.isArray(params)) {
    throw invalidParams('Invalid params: the parameters must be a list');
  }
  return { method, params: new Params(params ?? []) };
}

function failureJson(error: unknown, id: unknown) {
  const { code, message, data } = error instanceof RpcError ? error : internalError();
  return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id: id ?? null };
}

/**
 * For a socket: answers at once, and tells whether anything was refused. Requests without an id are not answered:
 * web3.js sends its pings like that.
 */
export function answerRequests(body: string, call: (method: string, params: Params) => unknown) {
  let isRefused = false;
  const refuse = (error: unknown, id?: unknown) => {
    isRefused = true;
    return failureJson(error, id);
  };
  const answer = (request: unknown): object | undefined => {
    const members = membersOf(request);
    const { id } = members;
    try {
      const { method, params } = readCall(members);
      return id === undefined ? undefined : { jsonrpc: '2.0', result: call(method, params), id };
    } catch (error) {
      return refuse(error, id);
    }
  };
  try {
    const { requests, isBatch } = readRequests(body);
    const answers = requests.map(answer).filter((one) => one !== undefined);
    const text = answers.length === 0 ? undefined : writeJson(isBatch ? answers : answers[0]);
    return { text, isRefused };
  } catch (error) {
    return { text: writeJson(refuse(error)), isRefused };
  }
}

export interface RpcOptions {
  readonly context: RpcContext;
  readonly methods: Readonly<Record<string, Method>>;
  readonly onError: (error: unknown, method: string) => void;
}

export function createRpc({ context, methods, onError }: RpcOptions): Rpc {
  const known = new Map(Object.entries(methods));
  const call = async (request: unknown): Promise<object | undefined> => {
    const members = membersOf(request);
    const { id } = members;
    const respond = (body: object) => ({ jsonrpc: '2.0', ...body, id: id ?? null });
    try {
      const { method, params } = readCall(members);
      const found = known.get(method);
      if (!found) throw methodNotFound();
      context.faults.enter(method);
      const result = await found(params, context);
      context.faults.loseAnswer(method);
      return id === undefined ? undefined : respond({ result });
    } catch (error) {
      if (error instanceof AnswerLost) throw error;
      if (!(error instanceof RpcError)) onError(error, String(members.method));
      return failureJson(error, id);
    }
  };

  return {
    async answer(body) {
      let read: ReturnType<typeof readRequests>;
      try {
        read = readRequests(body);
      } catch (error) {
        return writeJson(failureJson(error, null));
      }
      const answers = [];
      // In order, as from one caller after another.
      try {
        for (const one of read.requests) {
          const answer = await call(one);
          if (answer) answers.push(answer);
        }
      } finally {
        // Nothing is reported that a crash could still take back.
        await context.ledger.durable();
      }
      if (answers.length === 0) return undefined;
      return writeJson(read.isBatch ? answers : answers[0]);
    },
  };
}

function membersOf(request: unknown): Request {
  return typeof request === 'object' && request !== null && !Array.isArray(request) ? request : {};
}
