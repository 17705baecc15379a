/**
 * The embedded chain in this process, with its time advanced by us: slots pass as fast as the machine can,
 * and calls, blocks and time itself go wrong at random.
 */
import { randomBytes } from 'node:crypto';
import {
  createEmbeddedChain,
  type EmbeddedChain,
  type Fault,
  type FaultInput,
} from '@coffer/embedded-chain/testing';
import { encodeBase58 } from '@coffer/kernel';
import type { Random } from '@coffer/testing';
import type { Tally } from './tally.ts';

export const GOLD_DECIMALS = 6;

/** As on a cluster. */
const FINALITY = { confirmedAfter: 2, finalizedAfter: 32 };
const BLOCKHASH_LIFE_SLOTS = 151;
const SLOT_MS = 10;

/** Shares of all calls; the rest go well. */
const OF_SENDS = { drop: 0.2, late: 0.15, lost: 0.15, unanswered: 0.002, again: 0.3 };
const OF_QUESTIONS = { lost: 0.05, lag: 0.05, frozenHeight: 0.01 };
/** Shares of all slots. */
const OF_SLOTS = { fork: 0.02, down: 0.004, noSends: 0.005 };
const MOST_FORKED_SLOTS = 20;
const MOST_DOWN_SLOTS = 8;
const MOST_LATE_SLOTS = 200;
const MOST_LAG_SLOTS = 60;
/** While nothing lands for about the life of a blockhash: some transactions land near its end. */
const LATE_WHILE_NONE_LANDS = 0.3;
const LATE_SLOTS = 100;

export interface FaultyChain extends Pick<EmbeddedChain, 'url' | 'faucetAddress'> {
  readonly gold: string;
  /** Calls so far: a measure of a worker's life that does not depend on how busy the machine is. */
  readonly calls: () => number;
  /** Everything goes well until faults are switched on. */
  readonly setTrouble: (isOn: boolean) => void;
  /** From now on, what is in a block can no longer be forked away. */
  readonly finalize: () => void;
  /** Makes what is not in a block yet expire. */
  readonly expireSoon: () => void;
  readonly stop: () => Promise<void>;
}

export async function startFaultyChain(random: Random, tally: Tally): Promise<FaultyChain> {
  const gold = encodeBase58(randomBytes(32));
  let isOn = false;
  let method = '';
  let calls = 0;
  let downForSlots = 0;
  /** For this many slots, no send lands at once. */
  let noSendsForSlots = 0;

  const chain = await createEmbeddedChain({
    slotMs: 'byHand',
    finality: FINALITY,
    mints: [{ address: gold, decimals: GOLD_DECIMALS }],
    faultObserver: { beforeCall, onEffect },
  });
  const timer = setInterval(passSlots, SLOT_MS);

  return {
    url: chain.url,
    faucetAddress: chain.faucetAddress,
    gold,
    calls: () => calls,
    setTrouble(value) {
      isOn = value;
      downForSlots = 0;
      noSendsForSlots = 0;
      chain.faults.clear();
    },
    finalize: () => chain.advance(FINALITY.finalizedAfter + 1),
    expireSoon() {
      if (isOn && noSendsForSlots === 0) noSendsForSlots = BLOCKHASH_LIFE_SLOTS + FINALITY.finalizedAfter;
    },
    async stop() {
      clearInterval(timer);
      await chain.stop();
    },
  };

  /** What is injected here affects this call and no other. */
  function beforeCall(called: string): void {
    method = called;
    calls += 1;
    if (!isOn || downForSlots > 0) return;
    chain.faults.clear();
    const fault = called === 'sendTransaction' ? faultOfSend() : faultOfQuestion(called);
    if (fault) chain.faults.inject(fault);
  }

  function faultOfSend(): FaultInput | undefined {
    if (noSendsForSlots > 0) {
      // Whoever takes it for lost too early and signs again pays twice.
      return random() < LATE_WHILE_NONE_LANDS
        ? { kind: 'delayLanding', slots: LATE_SLOTS + upTo(BLOCKHASH_LIFE_SLOTS - LATE_SLOTS) }
        : { kind: 'dropSend' };
    }
    let roll = random();
    const is = (share: number) => {
      roll -= share;
      return roll < 0;
    };
    if (is(OF_SENDS.drop)) return { kind: 'dropSend' };
    if (is(OF_SENDS.late)) return { kind: 'delayLanding', slots: upTo(MOST_LATE_SLOTS) };
    if (is(OF_SENDS.lost)) return { kind: 'loseAnswer', how: pick(['reset', '500', '503']) };
    if (is(OF_SENDS.unanswered)) return { kind: 'loseAnswer', how: 'never' };
    return is(OF_SENDS.again) ? { kind: 'acceptDuplicate' } : undefined;
  }

  function faultOfQuestion(of: string): FaultInput | undefined {
    const roll = random();
    const { lost, lag, frozenHeight } = OF_QUESTIONS;
    if (roll < lost) return { kind: 'loseAnswer', method: of, how: pick(['reset', '500', '503']) };
    if (roll < lost + lag) return { kind: 'lag', slots: upTo(MOST_LAG_SLOTS) };
    return roll < lost + lag + frozenHeight ? { kind: 'freezeHeight' } : undefined;
  }

  function onEffect(kind: Fault['kind']): void {
    const isSend = method === 'sendTransaction';
    if (kind === 'loseAnswer') tally.add(isSend ? 'landed, answer lost' : 'answer lost');
    else tally.add(NAMES[kind]);
  }

  function passSlots(): void {
    chain.advance(1);
    if (!isOn) return;
    noSendsForSlots = Math.max(0, noSendsForSlots - 1);
    if (downForSlots > 0) {
      downForSlots -= 1;
      if (downForSlots === 0) chain.faults.clear();
      return;
    }
    const { fork, down, noSends } = OF_SLOTS;
    const roll = random();
    if (roll < fork) forkAway();
    else if (roll < fork + down) {
      downForSlots = upTo(MOST_DOWN_SLOTS);
      chain.faults.clear();
      chain.faults.inject({ kind: 'down', how: pick(['reset', '503']) });
    } else if (roll < fork + down + noSends && noSendsForSlots === 0) {
      noSendsForSlots = LATE_SLOTS + upTo(LATE_SLOTS);
    }
  }

  function forkAway(): void {
    const again = random() < 0.5 ? { landAgainAfter: upTo(MOST_FORKED_SLOTS) } : {};
    const dropped = chain.fork({ slots: upTo(MOST_FORKED_SLOTS), ...again });
    for (let index = 0; index < dropped; index += 1) tally.add('forked away');
  }

  function upTo(most: number): number {
    return 1 + Math.floor(random() * most);
  }

  function pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[Math.floor(random() * items.length)] ?? items[0];
  }
}

const NAMES: Readonly<Record<Exclude<Fault['kind'], 'loseAnswer'>, string>> = {
  dropSend: 'send dropped',
  delayLanding: 'landing delayed',
  acceptDuplicate: 'duplicate accepted',
  lag: 'node lagging',
  freezeHeight: 'block height frozen',
  prune: 'history discarded',
  down: 'node down',
};
