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
  /** The text to answer with; undefined where nothing is to be answered. */
  readonly answer: (body: string) => Promise<string | undefined>;
}

export interface RpcOptions {
  readonly context: RpcContext;
  readonly methods: Readonly<Record<string, Method>>;
  readonly onError: (error: unknown, method: string) => void;
}

export function createRpc({ context, methods, onError }: RpcOptions): Rpc {
  const known = new Map(Object.entries(methods));
  const call = async (request: unknown): Promise<object | undefined> => {
    const { id, method, params } = membersOf(request);
    const respond = (body: object) => ({ jsonrpc: '2.0', ...body, id: id ?? null });
    try {
      if (typeof method !== 'string') throw invalidRequest();
      const found = known.get(method);
      if (!found) throw methodNotFound();
      if (params !== undefined && params !== null && !Array.isArray(params)) {
        throw invalidParams('Invalid params: the parameters must be a list');
      }
      context.faults.enter(method);
      const result = await found(new Params(params ?? []), context);
      context.faults.loseAnswer(method);
      return id === undefined ? undefined : respond({ result });
    } catch (error) {
      if (error instanceof AnswerLost) throw error;
      const answered = error instanceof RpcError ? error : internalError();
      if (answered !== error) onError(error, String(method));
      const { code, message, data } = answered;
      return respond({ error: { code, message, ...(data !== undefined && { data }) } });
    }
  };

  return {
    async answer(body) {
      let request: unknown;
      try {
        request = parseJson(body);
      } catch {
        return failureText(parseError());
      }
      if (Array.isArray(request) && (request.length === 0 || request.length > MAXIMUM_BATCH)) {
        return failureText(invalidRequest());
      }
      const answers = [];
      // In their order, as one caller after the other.
      try {
        for (const one of Array.isArray(request) ? request : [request]) {
          const answer = await call(one);
          if (answer) answers.push(answer);
        }
      } finally {
        // Nothing is told that a crash could still take back.
        await context.ledger.durable();
      }
      if (answers.length === 0) return undefined;
      return writeJson(Array.isArray(request) ? answers : answers[0]);
    },
  };
}

function membersOf(request: unknown): { id?: unknown; method?: unknown; params?: unknown } {
  return typeof request === 'object' && request !== null && !Array.isArray(request) ? request : {};
}

export function failureText({ code, message }: RpcError): string {
  return writeJson({ jsonrpc: '2.0', error: { code, message }, id: null });
}
