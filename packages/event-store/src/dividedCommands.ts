/**
 * Command handlers of several threads that share their streams: each stream has one thread that decides on it, so its
 * state is cached once, its commands share appends, and threads do not take revisions from each other. Which thread it
 * is follows from the stream's name.
 *
 * The log alone keeps the streams right. A thread that has not joined yet, or is leaving, is passed over: the command is
 * decided where it was asked, and should two threads decide at once, the revision lets one of them be first.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { StreamType } from '@coffer/kernel';
import { Rejection } from '@coffer/kernel';
import type { CommandContext, CommandHandler, Settled } from './commands.ts';
import { OutcomeUnknownError } from './errors.ts';
import { type PortableFailure, packFailure, unpackFailure } from './portableFailure.ts';
import { hashOfStream } from './streamHash.ts';
import type { AnyStreamType } from './works.ts';

/** This thread among the others. */
export interface ThreadPlace {
  readonly index: number;
  /** By index: ways to the other threads, and undefined for this one. */
  readonly ports: readonly (MessagePort | undefined)[];
}

/** By index: the ports of each of so many threads to the others. */
export function portsBetween(count: number): readonly ThreadPlace['ports'][] {
  const ports = Array.from({ length: count }, () =>
    new Array<MessagePort | undefined>(count).fill(undefined),
  );
  for (const [one, ofOne] of ports.entries()) {
    for (let other = one + 1; other < count; other++) {
      const { port1, port2 } = new MessageChannel();
      ofOne[other] = port1;
      ports[other]?.splice(one, 1, port2);
    }
  }
  return ports;
}

export interface DividedCommands extends CommandHandler {
  /**
   * Resolves once no other thread asks this one any more and all that were asked are answered. What is asked of this
   * thread meanwhile, and afterwards, it decides itself.
   */
  readonly leave: () => Promise<void>;
}

interface Asked extends Omit<CommandContext, 'deadlineMs'> {
  readonly id: number;
  readonly stream: string;
  readonly commands: readonly unknown[];
  /** Milliseconds since 1970: each thread counts `performance.now()` from its own beginning. */
  readonly deadlineAtMs: number;
}

interface Answered {
  readonly id: number;
  readonly results: readonly PortableSettled[] | PortableFailure;
}

/** What threads tell each other; the questions and answers of one turn of the event loop travel together. */
interface Letter {
  readonly asked?: readonly Asked[];
  readonly answered?: readonly Answered[];
  /** `joined`: takes questions. `leaving`: takes none after those on their way. `left`: asks the leaving one no more. */
  readonly word?: 'joined' | 'leaving' | 'left';
}

type PortableSettled =
  | Exclude<Settled<unknown>, { readonly status: 'refused' }>
  | { readonly status: 'refused'; readonly failure: PortableFailure }
  /** An answer with a refusal in it, under its field. */
  | { readonly status: 'packed'; readonly settled: Settled<unknown>; readonly failures: Failures };
type Failures = readonly (readonly [field: string, failure: PortableFailure])[];

interface Peer {
  readonly ask: (asked: Omit<Asked, 'id'>) => Promise<readonly Settled<unknown>[]>;
  readonly takesQuestions: () => boolean;
  readonly leave: () => Promise<void>;
}

export function divideCommands(
  own: CommandHandler,
  all: readonly AnyStreamType[],
  { index, ports }: ThreadPlace,
): DividedCommands {
  // All other streams are everybody's.
  const types = new Map(all.filter((type) => type.crossesThreads).map((type) => [type.category, type]));
  const peers = ports.map((port) => port && correspondWith(port, (asked) => decideFor(asked)));

  return {
    ...own,
    async execute(type, stream, command, context) {
      const peer = peerFor(type, stream);
      if (!peer) return own.execute(type, stream, command, context);
      const [settled] = await peer.ask(questionOf(stream, [command], context));
      if (settled?.status !== 'decided') throw settled?.reason;
      return settled as never;
    },
    async executeAll(type, stream, commands, context) {
      const peer = peerFor(type, stream);
      if (!peer) return own.executeAll(type, stream, commands, context);
      return (await peer.ask(questionOf(stream, commands, context))) as never;
    },
    async leave() {
      await Promise.all(peers.map((peer) => peer?.leave()));
    },
  };

  function peerFor({ category }: Pick<StreamType<never, never, never, never>, 'category'>, stream: string) {
    if (!types.has(category)) return undefined;
    const owner = shareOf(stream, peers.length);
    const peer = owner === index ? undefined : peers[owner];
    return peer?.takesQuestions() ? peer : undefined;
  }

  async function decideFor(asked: Asked): Promise<readonly PortableSettled[]> {
    const { stream, commands, deadlineAtMs, metadata, eventIds } = asked;
    const type = types.get(stream.slice(0, stream.indexOf('-')));
    if (!type) throw new TypeError(`${stream} is not divided.`);
    const context = {
      metadata,
      deadlineMs: deadlineAtMs - performance.timeOrigin,
      ...(eventIds && { eventIds }),
    };
    return (await own.executeAll(type, stream, commands, context)).map(packSettled);
  }
}

const questionOf = (
  stream: string,
  commands: readonly unknown[],
  { deadlineMs, metadata, eventIds }: CommandContext,
): Omit<Asked, 'id'> => ({
  stream,
  commands,
  metadata,
  ...(eventIds && { eventIds }),
  deadlineAtMs: deadlineMs + performance.timeOrigin,
});

/** Which of so many threads decides on the stream. */
export const shareOf = (stream: string, count: number): number => hashOfStream(stream) % count;

function packSettled(settled: Settled<unknown>): PortableSettled {
  if (settled.status === 'refused') return { status: 'refused', failure: packFailure(settled.reason) };
  const { answer } = settled;
  if (typeof answer !== 'object' || answer === null) return settled;
  const refusals = Object.entries(answer).filter(([, value]) => value instanceof Rejection);
  if (refusals.length === 0) return settled;
  const failures = refusals.map(([field, value]) => [field, packFailure(value)] as const);
  const rest = { ...answer, ...Object.fromEntries(refusals.map(([field]) => [field, undefined])) };
  return { status: 'packed', settled: { ...settled, answer: rest }, failures };
}

function unpackSettled(portable: PortableSettled): Settled<unknown> {
  if (portable.status === 'refused') return { status: 'refused', reason: unpackFailure(portable.failure) };
  if (portable.status === 'decided') return portable;
  const { settled, failures } = portable;
  if (settled.status === 'refused') return settled;
  const refusals = failures.map(([field, failure]) => [field, unpackFailure(failure)]);
  return { ...settled, answer: Object.assign({}, settled.answer, Object.fromEntries(refusals)) };
}

/** Asks the thread at the other end and answers it. */
function correspondWith(
  port: MessagePort,
  decide: (asked: Asked) => Promise<readonly PortableSettled[]>,
): Peer {
  const waiting = new Map<number, PromiseWithResolvers<readonly Settled<unknown>[]>>();
  const asksNoMore = Promise.withResolvers<void>();
  /** What it has asked and is not answered yet. */
  const working = new Set<Promise<void>>();
  let hasJoined = false;
  let takesQuestions = false;
  let count = 0;
  let toAsk: Asked[] = [];
  let toAnswer: Answered[] = [];
  let isPosting = false;

  port.on('message', ({ asked = [], answered = [], word }: Letter) => {
    for (const { id, results } of answered) {
      const { resolve, reject } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (Array.isArray(results)) resolve?.(results.map(unpackSettled));
      else reject?.(unpackFailure(results as PortableFailure));
    }
    for (const one of asked) {
      const work = answer(one).finally(() => working.delete(work));
      working.add(work);
    }
    if (word === 'left') asksNoMore.resolve();
    if (word === undefined) return;
    takesQuestions = word === 'joined';
    hasJoined ||= takesQuestions;
    if (word !== 'leaving') return;
    postNow();
    port.postMessage({ word: 'left' } satisfies Letter);
  });
  // The thread at the other end is gone, and with it what it would have answered.
  port.on('close', () => {
    takesQuestions = false;
    asksNoMore.resolve();
    for (const { reject } of waiting.values()) {
      reject(new OutcomeUnknownError('The thread that decides on the stream has ended.'));
    }
    waiting.clear();
  });
  port.postMessage({ word: 'joined' } satisfies Letter);

  return {
    takesQuestions: () => takesQuestions,
    ask(question) {
      const answered = Promise.withResolvers<readonly Settled<unknown>[]>();
      count += 1;
      waiting.set(count, answered);
      toAsk.push({ ...question, id: count });
      postSoon();
      return answered.promise;
    },
    async leave() {
      port.postMessage({ word: 'leaving' } satisfies Letter);
      // One that never came cannot have asked.
      if (hasJoined) await asksNoMore.promise;
      await Promise.all(working);
      postNow();
      port.close();
    },
  };

  async function answer(asked: Asked): Promise<void> {
    const results = await decide(asked).catch(packFailure);
    toAnswer.push({ id: asked.id, results });
    postSoon();
  }

  function postSoon(): void {
    if (isPosting) return;
    isPosting = true;
    setImmediate(postNow);
  }

  function postNow(): void {
    isPosting = false;
    const [asked, answered] = [toAsk, toAnswer];
    if (asked.length + answered.length === 0) return;
    toAsk = [];
    toAnswer = [];
    try {
      port.postMessage({ asked, answered } satisfies Letter);
    } catch {
      postOneByOne(asked, answered);
    }
  }

  /** Something in a letter is no plain data, which is our mistake: nothing else in the letter is held up by it. */
  function postOneByOne(asked: readonly Asked[], answered: readonly Answered[]): void {
    for (const one of asked) {
      try {
        port.postMessage({ asked: [one] } satisfies Letter);
      } catch (error) {
        waiting.get(one.id)?.reject(error);
        waiting.delete(one.id);
      }
    }
    for (const one of answered) {
      try {
        port.postMessage({ answered: [one] } satisfies Letter);
      } catch (error) {
        port.postMessage({ answered: [{ id: one.id, results: packFailure(error) }] } satisfies Letter);
      }
    }
  }
}
