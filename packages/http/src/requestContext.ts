/** What a handler learns about its request besides the parsed input. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from './endpoint.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The id sent, if it is well formed, otherwise a new one. Source: contract, Common rules, row Request id. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
}

/** A class, so that a request that needs neither header nor signal allocates no closure and no controller. */
export class HttpRequestContext implements RequestContext {
  readonly requestId: string;
  readonly deadlineMs: number;
  readonly actor: string;
  readonly mayWait: () => boolean;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #abort: AbortController | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    facts: Pick<RequestContext, 'requestId' | 'deadlineMs' | 'actor' | 'mayWait'>,
  ) {
    this.requestId = facts.requestId;
    this.deadlineMs = facts.deadlineMs;
    this.actor = facts.actor;
    this.mayWait = facts.mayWait;
    this.#request = request;
    this.#response = response;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name.toLowerCase()];
    return typeof value === 'string' ? value : value?.join(', ');
  }

  get signal(): AbortSignal {
    this.#abort ??= abortedWithout(this.#response);
    return this.#abort.signal;
  }
}

function abortedWithout(response: ServerResponse): AbortController {
  const controller = new AbortController();
  const abortUnlessAnswered = (): void => {
    if (!response.writableFinished) controller.abort(new Error('The client has gone away.'));
  };
  if (response.closed) abortUnlessAnswered();
  else response.once('close', abortUnlessAnswered);
  return controller;
}
