/** Requests as sent, once or more, over connections that lose replies, and their replies. */
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import type { Asked, Attempt, Call, Place, Received } from '@coffer/ledger/testing';

/** An app in one environment, and the key to it. */
export interface KeyedPlace extends Place {
  readonly secretKey: string;
}

/** One copy of a request that was sent, under its id as X-Request-Id. */
interface SentAttempt extends Attempt {
  readonly place: KeyedPlace;
  /** Undefined if the network worked normally. */
  readonly fault: Fault | undefined;
  received: Attempt['received'];
}

/** What the network does to one copy. */
export type Fault =
  /** The connection is cut this many milliseconds after the request was sent. */
  | { readonly kind: 'cut'; readonly afterMs: number }
  /** The whole reply arrives and is lost. */
  | { readonly kind: 'loseReply' };

export interface Recorder {
  readonly attempts: readonly SentAttempt[];
  /** Sends one copy and returns the outcome. `node` is `http://host:port`. */
  readonly send: (
    node: string,
    place: KeyedPlace,
    call: Call,
    fault?: Fault,
  ) => Promise<Received | undefined>;
  readonly close: () => void;
}

export function createRecorder(operatorToken: string): Recorder {
  const attempts: SentAttempt[] = [];
  const agent = new Agent({ keepAlive: true });
  let ticks = 0;

  return {
    attempts,
    async send(node, place, call, fault) {
      const { method, path, body, headers = {}, byOperator } = httpCallOf(place, call);
      ticks += 1;
      const id = `request-${attempts.length}`;
      const attempt: SentAttempt = { id, place, call, sentAt: ticks, fault, received: undefined };
      attempts.push(attempt);
      const received = await exchange(
        new URL(`/v1${path}`, node),
        {
          agent,
          method,
          headers: {
            authorization: `Bearer ${byOperator ? operatorToken : place.secretKey}`,
            'x-request-id': id,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          body: body === undefined ? undefined : JSON.stringify(body),
        },
        fault,
      );
      if (!received) return undefined;
      ticks += 1;
      attempt.received = { ...received, at: ticks };
      return received;
    },
    close: () => agent.destroy(),
  };
}

interface HttpCall {
  readonly method: 'GET' | 'POST';
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly byOperator?: boolean;
}

function httpCallOf(place: Place, call: Call): HttpCall {
  switch (call.kind) {
    case 'accounts':
      return { method: 'GET', path: `/users/${call.userId}/accounts` };
    case 'batch': {
      const operations = call.operations.map((operation) => {
        assert('sessionId' in operation, 'a batch is of one session');
        const { sessionId: _, ...rest } = operation;
        return rest;
      });
      return { method: 'POST', path: '/ledger/batch', body: { sessionId: call.sessionId, operations } };
    }
    case 'keyInHeader': {
      const { op: _, transactionUuid = '', ...body } = call.operation;
      return {
        method: 'POST',
        path: '/ledger/sessions',
        body,
        headers: { 'idempotency-key': transactionUuid },
      };
    }
    case 'single':
      return singleCallOf(place, call.operation);
  }
}

function singleCallOf({ appId, environment }: Place, operation: Asked): HttpCall {
  const adminPath = (userId: string) => `/portal/app/${appId}/${environment}/users/${userId}/accounts`;
  switch (operation.op) {
    case 'credit':
    case 'debit': {
      const { op, userId, ...body } = operation;
      return { method: 'POST', path: `${adminPath(userId)}/${op}`, body, byOperator: true };
    }
    case 'figures': {
      const path = `${adminPath(operation.userId)}?currency=${operation.currency}`;
      return { method: 'GET', path, byOperator: true };
    }
    case 'open': {
      const { op: _, ...body } = operation;
      return { method: 'POST', path: '/ledger/sessions', body };
    }
    case 'lock': {
      const { op: _, currencyId: currency, ...body } = operation;
      return { method: 'POST', path: '/custody/lock', body: { ...body, currency } };
    }
    case 'settlePool': {
      const { op: _, currencyId: currency, ...body } = operation;
      return { method: 'POST', path: '/custody/settle', body: { ...body, currency } };
    }
    case 'confirm':
    case 'refundPool': {
      const { op, ...body } = operation;
      return { method: 'POST', path: `/custody/${op === 'confirm' ? op : 'refund'}`, body };
    }
    case 'payout':
    case 'distribute':
    case 'withdraw':
    case 'earned': {
      const { op, currencyId: currency, ...body } = operation;
      const path = `/referrals/${op === 'earned' ? 'balance' : op}`;
      return { method: 'POST', path, body: { ...body, currency } };
    }
    case 'code':
    case 'attribute':
    case 'chain': {
      const { op, ...body } = operation;
      return { method: 'POST', path: `/referrals/${op}`, body };
    }
    default: {
      const { op, ...body } = operation;
      return { method: 'POST', path: `/ledger/${op}`, body };
    }
  }
}

/** The errors of a connection whose other side has gone or was never there. */
const BROKEN = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

function exchange(
  url: URL,
  {
    agent,
    method,
    headers,
    body,
  }: {
    readonly agent: Agent;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | undefined;
  },
  fault: Fault | undefined,
): Promise<Received | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent, method, headers });
    let isCut = false;
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (isCut || (error.code && BROKEN.has(error.code))) resolve(undefined);
      else reject(error);
    });
    request.on('finish', () => {
      if (fault?.kind !== 'cut') return;
      setTimeout(() => {
        isCut = true;
        request.destroy();
        resolve(undefined);
      }, fault.afterMs);
    });
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      // A truncated reply counts as none.
      response.on('error', () => resolve(undefined));
      response.on('end', () => {
        const replayed = response.headers['idempotency-replayed'] === 'true';
        resolve(fault ? undefined : { status: response.statusCode ?? 0, text, replayed });
      });
    });
    request.end(body);
  });
}
