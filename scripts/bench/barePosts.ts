/** The yardstick of deliveries, in a process that runs none of our code: undici posts, with so many in flight. */
import { Agent, request } from '@coffer/webhooks/testing';

export interface BarePostsOrder {
  /** `http://host:port` */
  readonly origin: string;
  readonly endpoints: number;
  readonly bodies: readonly string[];
  readonly count: number;
  readonly inFlight: number;
}

const agent = new Agent();

process.on('message', (order: BarePostsOrder) => {
  postAll(order).then(
    () => process.send?.('posted'),
    (error: unknown) => {
      throw error;
    },
  );
});
// The parent is gone: nobody is left to report to.
process.on('disconnect', () => process.exit(0));

async function postAll({ origin, endpoints, bodies, count, inFlight }: BarePostsOrder): Promise<void> {
  const sent = bodies.map((body) => Buffer.from(body));
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      const answer = await request(`${origin}/${index % endpoints}`, {
        method: 'POST',
        dispatcher: agent,
        headers: { 'content-type': 'application/json' },
        body: sent[index % sent.length] ?? null,
      });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
