/** Two services on one database, killed again and again while requests are under way. */
import { eventually } from '@coffer/testing';
import type { ServiceProcess } from '../serviceProcess.ts';
import type { Fault, KeyedPlace, Recorder } from './attempts.ts';
import type { Step } from './workload.ts';

/** Which of the nodes are killed, each after this many more answers. */
const KILLS: readonly (readonly number[])[] = [[0], [1], [0, 1], [1], [0]];
const ANSWERS_BETWEEN_KILLS = 400;

interface KilledNodesOptions {
  readonly start: (index: number) => Promise<ServiceProcess>;
  readonly recorder: Recorder;
  /** The most requests that wait for an answer at the same time. */
  readonly requestsAtOnce: number;
}

export interface KilledNodes {
  readonly startAll: () => Promise<unknown>;
  readonly running: () => readonly ServiceProcess[];
  readonly isOneStarting: () => boolean;
  /** Undefined if no answer came. */
  readonly send: (
    node: ServiceProcess,
    place: KeyedPlace,
    call: Step['call'],
    fault: Fault | undefined,
  ) => ReturnType<Recorder['send']>;
  /** Each kill meets a request. */
  readonly killAgainAndAgain: () => Promise<void>;
}

export function createKilledNodes({ start, recorder, requestsAtOnce }: KilledNodesOptions): KilledNodes {
  const nodes: (ServiceProcess | undefined)[] = [];
  /** The number of requests to each that have not been answered. */
  const inFlight = new Map<ServiceProcess, number>();
  /** Those that are stopped before they are killed, with the number of requests since then that nothing else will meet. */
  const stopped = new Map<ServiceProcess, number>();

  const answered = () => recorder.attempts.filter(({ received }) => received !== undefined).length;
  const startAgain = async (index: number) => {
    nodes[index] = await start(index);
  };

  /** Stopped in the middle of what it does, it is killed once a request waits for it, however slow this process is. */
  async function kill(index: number): Promise<void> {
    const node = nodes[index];
    if (!node) throw new Error('A killed node was started again.');
    process.kill(node.pid, 'SIGSTOP');
    stopped.set(node, 0);
    await eventually('a request waits for it, or all wait for another', () => {
      const waiting = [...stopped.keys()].reduce((sum, each) => sum + (inFlight.get(each) ?? 0), 0);
      return (stopped.get(node) ?? 0) > 0 || waiting >= requestsAtOnce || undefined;
    });
    nodes[index] = undefined;
    await node.kill9();
    stopped.delete(node);
  }

  return {
    startAll: () => Promise.all([0, 1].map(startAgain)),
    running: () => nodes.filter((node) => node !== undefined),
    isOneStarting: () => nodes.includes(undefined),
    async send(node, place, call, fault) {
      const sentSince = stopped.get(node);
      if (sentSince !== undefined && !fault) stopped.set(node, sentSince + 1);
      inFlight.set(node, (inFlight.get(node) ?? 0) + 1);
      try {
        return await recorder.send(node.url, place, call, fault);
      } finally {
        inFlight.set(node, (inFlight.get(node) ?? 0) - 1);
      }
    },
    async killAgainAndAgain() {
      for (const victims of KILLS) {
        const answers = answered() + ANSWERS_BETWEEN_KILLS;
        await eventually(`${answers} answers`, () => answered() >= answers || undefined);
        await Promise.all(victims.map((index) => kill(index).then(() => startAgain(index))));
      }
    },
  };
}
