import type { Client } from '@coffer/host/testing';

/** Each call goes to the next client: alternating over nodes, or to the one currently running. */
export function delegatingClient(next: () => Client): Client {
  return {
    get baseUrl() {
      return next().baseUrl;
    },
    send: (...call) => next().send(...call),
    get: (...call) => next().get(...call),
    post: (...call) => next().post(...call),
    lines: (...call) => next().lines(...call),
  };
}

/** One after the other, in turn. */
export function alternatingClient(clients: readonly Client[]): Client {
  let calls = 0;
  return delegatingClient(() => {
    const client = clients[calls % clients.length];
    if (!client) throw new Error('There is no client to alternate.');
    calls += 1;
    return client;
  });
}
