/** Subscriptions over WebSocket. They are looked after only while there are any. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { parseJson, writeJson } from '../json.ts';
import { accountJson } from './accountJson.ts';
import { type RpcContext, withContext } from './context.ts';
import { internalError, invalidRequest, methodNotFound, RpcError } from './errors.ts';
import { isLoopbackOrigin } from './httpServer.ts';
import { asSignature, Params, type Settings } from './params.ts';

const MAXIMUM_MESSAGE_BYTES = 64 * 1024;
const MAXIMUM_SUBSCRIPTIONS = 1000;
const SYSTEM_PROGRAM = '1'.repeat(32);

/** Looks whether there is something to tell. Returns whether all is told. */
type Look = (notify: (method: string, result: unknown) => void) => boolean;

interface Subscription {
  readonly socket: WebSocket;
  readonly look: Look;
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

export function createSubscriptions(context: RpcContext, lookMs: number) {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAXIMUM_MESSAGE_BYTES });
  const subscriptions = new Map<number, Subscription>();
  let lastId = 0;
  let timer: NodeJS.Timeout | undefined;

  const look = () => {
    for (const [id, { socket, look: lookAt }] of subscriptions) {
      const notify = (method: string, result: unknown) =>
        socket.send(writeJson({ jsonrpc: '2.0', method, params: { result, subscription: id } }));
      if (lookAt(notify)) drop(id);
    }
  };
  const drop = (id: number): boolean => {
    const isThere = subscriptions.delete(id);
    if (subscriptions.size > 0) return isThere;
    clearInterval(timer);
    timer = undefined;
    return isThere;
  };
  const add = (socket: WebSocket, lookAt: Look): number => {
    if (subscriptions.size >= MAXIMUM_SUBSCRIPTIONS) throw new RpcError(-32006, 'Too many subscriptions');
    lastId += 1;
    subscriptions.set(lastId, { socket, look: lookAt });
    timer ??= setInterval(look, lookMs).unref();
    return lastId;
  };

  const call = (socket: WebSocket, method: unknown, params: Params): unknown => {
    if (method === 'signatureSubscribe') return add(socket, signatureLook(params, context));
    if (method === 'accountSubscribe') return add(socket, accountLook(params, context));
    if (method === 'slotSubscribe') return add(socket, slotLook(context));
    if (typeof method === 'string' && /^(signature|account|slot)Unsubscribe$/.test(method)) {
      return drop(Number(params.u64(0)));
    }
    throw methodNotFound();
  };
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => {
      socket.send(answerTo(String(data), (method, params) => call(socket, method, params)));
      // After the answer: the subscriber must know the number of what it is told.
      look();
    });
    // Whatever went wrong with it: its end follows.
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      for (const [id, subscription] of subscriptions) if (subscription.socket === socket) drop(id);
    });
  });

  return {
    look,
    /** Takes the connections that ask for a socket. */
    serve(server: Server): void {
      server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
        const { origin } = request.headers;
        if ((origin && !isLoopbackOrigin(origin)) || context.faults.isDown()) {
          stream.destroy();
          return;
        }
        sockets.handleUpgrade(request, stream, head, (socket) => sockets.emit('connection', socket, request));
      });
    },
    close(): void {
      clearInterval(timer);
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
    },
  };
}

function answerTo(text: string, call: (method: unknown, params: Params) => unknown): string {
  let id: unknown = null;
  try {
    const request = parseJson(text);
    if (typeof request !== 'object' || request === null || !('method' in request)) throw invalidRequest();
    if ('id' in request) id = request.id;
    const params = 'params' in request && Array.isArray(request.params) ? request.params : [];
    return writeJson({ jsonrpc: '2.0', result: call(request.method, new Params(params)), id });
  } catch (error) {
    const { code, message } = error instanceof RpcError ? error : internalError();
    return writeJson({ jsonrpc: '2.0', error: { code, message }, id });
  }
}

const newestFor = ({ ledger, faults }: RpcContext, settings: Settings) =>
  ledger.slotAt(settings.commitment ?? 'finalized', faults.tip());

/** Told once, when the transaction has reached the commitment. */
function signatureLook(params: Params, context: RpcContext): Look {
  const signature = asSignature(params.string(0));
  const settings = params.settings(1);
  return (notify) => {
    const found = context.ledger.status(signature);
    if (!found || found.slot > newestFor(context, settings)) return false;
    const err = found.error === null ? null : parseJson(found.error);
    notify('signatureNotification', withContext(found.slot, { err }));
    return true;
  };
}

function accountLook(params: Params, context: RpcContext): Look {
  const address = params.address(0);
  const settings = params.settings(1);
  const view = () => {
    const slot = newestFor(context, settings);
    const account = (of: string) => context.ledger.accountAt(of, slot);
    // One that is closed is told as what is left of it.
    const nothing = { lamports: 0n, owner: SYSTEM_PROGRAM, data: new Uint8Array(), executable: false };
    const state = account(address) ?? nothing;
    return { slot, json: accountJson(state, { encoding: settings.encoding ?? 'base64', account }) };
  };
  let told = writeJson(view().json);
  return (notify) => {
    const { slot, json } = view();
    const text = writeJson(json);
    if (text !== told) notify('accountNotification', withContext(slot, json));
    told = text;
    return false;
  };
}

function slotLook({ ledger, faults }: RpcContext): Look {
  let told = faults.tip();
  return (notify) => {
    const slot = faults.tip();
    if (slot > told) {
      notify('slotNotification', { slot, parent: slot - 1n, root: ledger.slotAt('finalized', slot) });
    }
    told = slot;
    return false;
  };
}
