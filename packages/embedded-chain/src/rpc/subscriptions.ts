/** Subscriptions over WebSocket. They are only processed while there are any. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { writeJson } from '../json.ts';
import type { RpcContext } from './context.ts';
import { invalidParams, methodNotFound, RpcError } from './errors.ts';
import { isLoopbackOrigin } from './httpServer.ts';
import { createLooks, type Look } from './looks.ts';
import type { Params } from './params.ts';
import { answerRequests } from './rpc.ts';

const MAXIMUM_MESSAGE_BYTES = 64 * 1024;
const MAXIMUM_SUBSCRIPTIONS = 1000;
/** How much a subscriber may leave unread. */
const MAXIMUM_UNREAD_BYTES = 16 * 1024 * 1024;
/** web3.js repeats refused requests at once, for ever: each refusal in a row takes longer, up to this. */
const FIRST_HOLD_MS = 500;
const LONGEST_HOLD_MS = 30_000;
/** Whoever sends more at a time does not wait for answers. */
const MAXIMUM_HELD = 100;

interface Subscription {
  readonly socket: WebSocket;
  readonly kind: string;
  readonly look: Look;
}

export function createSubscriptions(context: RpcContext, lookMs: number) {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAXIMUM_MESSAGE_BYTES });
  const subscriptions = new Map<number, Subscription>();
  const looks = createLooks(context);
  let lastId = 0;
  let timer: NodeJS.Timeout | undefined;

  const look = () => {
    looks.begin();
    for (const [id, { socket, look: lookAt }] of subscriptions) {
      const notify = (method: string, result: unknown) =>
        send(socket, writeJson({ jsonrpc: '2.0', method, params: { result, subscription: id } }));
      if (lookAt(notify)) drop(id);
    }
  };
  const drop = (id: number): void => {
    subscriptions.delete(id);
    if (subscriptions.size > 0) return;
    looks.forget();
    clearInterval(timer);
    timer = undefined;
  };
  const subscribe = (socket: WebSocket, kind: string, params: Params): number => {
    const lookFor = looks.kinds.get(kind);
    if (!lookFor) throw methodNotFound();
    if (subscriptions.size >= MAXIMUM_SUBSCRIPTIONS) throw new RpcError(-32006, 'Too many subscriptions');
    // What was before is not sent.
    look();
    const added = lookFor(params);
    lastId += 1;
    subscriptions.set(lastId, { socket, kind, look: added });
    timer ??= setInterval(look, lookMs).unref();
    return lastId;
  };
  const unsubscribe = (socket: WebSocket, kind: string, params: Params): true => {
    if (!looks.kinds.has(kind)) throw methodNotFound();
    const id = Number(params.u64(0));
    const found = subscriptions.get(id);
    if (found?.socket !== socket || found.kind !== kind) throw invalidParams('Invalid subscription id.');
    drop(id);
    return true;
  };
  const call = (socket: WebSocket, method: string, params: Params): unknown => {
    const [, kind = '', what] = /^([a-zA-Z]+?)(Subscribe|Unsubscribe)$/.exec(method) ?? [];
    if (what === 'Subscribe') return subscribe(socket, kind, params);
    if (what === 'Unsubscribe') return unsubscribe(socket, kind, params);
    throw methodNotFound();
  };

  sockets.on('connection', (socket) => {
    const held = createHolds(socket);
    socket.on('message', (data) => {
      const { text, isRefused } = answerRequests(String(data), (method, params) =>
        call(socket, method, params),
      );
      if (isRefused) held.send(text ?? '');
      else if (text !== undefined) send(socket, text);
      // After the answer: the subscriber must know the number of the subscription first.
      context.ledger.durable().then(look, () => socket.terminate());
    });
    // Whatever went wrong with it, its end follows.
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      held.clear();
      for (const [id, subscription] of subscriptions) if (subscription.socket === socket) drop(id);
    });
  });

  return {
    look,
    /** The newest blocks were taken back: what replaces them is sent too. */
    forked: looks.forked,
    /** Takes the connections that ask for a socket. */
    serve(server: Server): void {
      server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
        const { origin } = request.headers;
        if ((origin && !isLoopbackOrigin(origin)) || context.faults.outage()) {
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

function send(socket: WebSocket, text: string): void {
  if (socket.bufferedAmount > MAXIMUM_UNREAD_BYTES) socket.terminate();
  else socket.send(text);
}

/**
 * Refusals of one socket: the first is sent at once, each one later than the last, until none was asked for in a while.
 */
function createHolds(socket: WebSocket) {
  const timers = new Set<NodeJS.Timeout>();
  let holdMs = 0;
  let lastMs = 0;
  return {
    send(text: string): void {
      const now = performance.now();
      if (now - lastMs > 2 * LONGEST_HOLD_MS) holdMs = 0;
      lastMs = now;
      if (timers.size >= MAXIMUM_HELD) {
        socket.terminate();
        return;
      }
      const timer = setTimeout(() => {
        timers.delete(timer);
        send(socket, text);
      }, holdMs).unref();
      timers.add(timer);
      holdMs = Math.min(Math.max(2 * holdMs, FIRST_HOLD_MS), LONGEST_HOLD_MS);
    },
    clear(): void {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
