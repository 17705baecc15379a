/**
 * What the clients of a run request: few players, keys and amounts, so that repeats, conflicts and races for the
 * same funds are common; sessions and pools come and go, and early requests are repeated late.
 */
import { idFromParts } from '@coffer/kernel';
import type { Asked, Call } from '@coffer/ledger/testing';
import type { Random } from '@coffer/testing';
import type { KeyedPlace } from './attempts.ts';

export interface Step {
  readonly place: KeyedPlace;
  readonly call: Call;
  /** A copy is sent at the same time. */
  readonly isDoubled: boolean;
  /** The client continues meanwhile, and the request is sent this much later. */
  readonly heldBackMs: number | undefined;
  /** The client repeats until it is answered. */
  readonly isPatient: boolean;
}

export interface WorkloadOptions {
  readonly places: readonly KeyedPlace[];
  /** By environment. */
  readonly usersOf: (place: KeyedPlace) => readonly string[];
  readonly steps: number;
}

/** Far beyond the precision of a floating-point number. */
const SOL = 9_007_199_254_740_993n;
const OPENS_AN_EPOCH = 2;
const POOLS_AN_EPOCH = 1;
const COMMISSIONS_AN_EPOCH = 4;
const STEPS_AN_EPOCH = 50;
const NOBODY = 'usr_00000000000000000000000000';
const CURRENCY_IDS = { SOL: 1, CHIP: 2 };

type Beginning = Pick<Step, 'place' | 'call'>;
type Playing = Pick<WorkloadOptions, 'places' | 'usersOf'>;

/** Each after the one before: funds and codes, and who brought whom, which nothing later changes; then what is refused. */
export const beginnings = (playing: Playing): readonly (readonly Beginning[])[] => [
  [...firstFunds(playing), ...codes(playing)],
  attributions(playing),
  rareRefusals(playing),
];

const codeOf = (index: number) => `Player-${index}`;

const codes = ({ places, usersOf }: Playing): readonly Beginning[] =>
  places.flatMap((place) =>
    usersOf(place).map((userId, index) => {
      const operation = { op: 'code', userId, code: codeOf(index) } as const;
      return { place, call: { kind: 'single', operation } };
    }),
  );

/** Each player by the next one. */
const attributions = ({ places, usersOf }: Playing): readonly Beginning[] =>
  places.flatMap((place) =>
    usersOf(place)
      .slice(0, -1)
      .map((userId, index) => {
        const operation = { op: 'attribute', userId, code: codeOf(index + 1) } as const;
        return { place, call: { kind: 'single', operation } };
      }),
  );

/** Of requests at random, a run may have none of these. */
const rareRefusals = ({ places, usersOf }: Playing): readonly Beginning[] =>
  places.flatMap((place) => {
    const users = usersOf(place);
    const [first = '', last = ''] = [users[0], users.at(-1)];
    const payout = { op: 'payout', userId: first, currencyId: CURRENCY_IDS.CHIP, amount: '1' } as const;
    const lock = {
      op: 'lock',
      poolId: 'refused',
      betId: 'bet-1',
      userId: first,
      currencyId: CURRENCY_IDS.CHIP,
    } as const;
    const refused: readonly Asked[] = [
      { ...lock, amount: '1', userId: NOBODY },
      { ...lock, amount: '1', currencyId: 9 },
      { ...lock, amount: amountIn('CHIP', 1_000) },
      { op: 'attribute', userId: last, code: 'nobody' },
      { op: 'attribute', userId: last, code: codeOf(users.length - 1) },
      { op: 'attribute', userId: last, code: codeOf(0) },
      { op: 'attribute', userId: first, code: codeOf(users.length - 1) },
      { op: 'code', userId: first, code: codeOf(1) },
      { ...payout, idemKey: 'of-nobody', userId: NOBODY },
      { ...payout, idemKey: 'in-nothing', currencyId: 9 },
    ];
    return refused.map((operation) => ({ place, call: { kind: 'single', operation } as const }));
  });

/** So that most later requests get beyond "not enough". */
function firstFunds({ places, usersOf }: Playing): readonly Beginning[] {
  return places.flatMap((place) =>
    usersOf(place).flatMap((userId) =>
      (['SOL', 'CHIP'] as const).map((currency) => {
        const operation = {
          op: 'credit',
          userId,
          currency,
          ref: 'begin',
          amount: amountIn(currency, 90),
        } as const;
        return { place, call: { kind: 'single', operation } as const };
      }),
    ),
  );
}

/** The script of one client. */
export function scriptOf({ places, usersOf, steps }: WorkloadOptions, random: Random): readonly Step[] {
  const pick = <Value>(values: readonly Value[]): Value => {
    const value = values[Math.floor(random() * values.length)];
    if (value === undefined) throw new Error('There is nothing to pick from.');
    return value;
  };
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const happens = (probability: number) => random() < probability;
  const script: Step[] = [];
  for (let number = 0; number < steps; number++) {
    const repeated = happens(0.2) ? script.at(-1 - upTo(script.length)) : undefined;
    const { place, call } = repeated ?? newCall(Math.floor(number / STEPS_AN_EPOCH));
    script.push({
      place,
      call,
      isDoubled: happens(0.2),
      heldBackMs: happens(0.25) ? upTo(40) : undefined,
      isPatient: happens(0.85),
    });
  }
  return script;

  function newCall(epoch: number): { place: KeyedPlace; call: Call } {
    const place = pick(places);
    const player = { userId: pick(usersOf(place)), currency: pick(['SOL', 'CHIP', 'CHIP'] as const) };
    const kind = upTo(99);
    if (kind < 8) {
      const operation = {
        op: pick(['credit', 'credit', 'debit'] as const),
        ...player,
        ref: `ref-${upTo(20)}`,
        amount: amountIn(player.currency, 1 + upTo(12)),
        ...(happens(0.2) ? { reason: 'promotion' } : {}),
      };
      return { place, call: { kind: 'single', operation } };
    }
    if (kind < 11) return { place, call: { kind: 'single', operation: { op: 'figures', ...player } } };
    if (kind < 14) return { place, call: { kind: 'accounts', userId: player.userId } };
    if (kind < 24) return { place, call: open(place, player, epoch) };
    if (kind < 40) return { place, call: { kind: 'single', operation: ofPool(place, epoch) } };
    if (kind < 50) return { place, call: { kind: 'single', operation: ofReferrals(place, epoch) } };
    const sessionId = sessionIn(place, happens(0.8) ? epoch : upTo(epoch));
    if (kind < 59) {
      const operations = Array.from({ length: 1 + upTo(7) }, () => play(sessionId));
      return { place, call: { kind: 'batch', sessionId, operations } };
    }
    return { place, call: { kind: 'single', operation: ofSession(sessionId) } };
  }

  function open(
    place: KeyedPlace,
    player: { userId: string; currency: 'SOL' | 'CHIP' },
    epoch: number,
  ): Call {
    // Usually the key determines who opens under it; otherwise two players or currencies share it.
    const key = happens(0.9) ? openKey(epoch, upTo(OPENS_AN_EPOCH - 1)) : undefined;
    const owner = key && happens(0.8) ? ownerOf(place, key) : player;
    const operation = {
      op: 'open' as const,
      userId: happens(0.06) ? NOBODY : owner.userId,
      gameCode: happens(0.9) ? 'dice' : 'slots',
      currency: happens(0.06) ? 'NONE' : owner.currency,
      lockAmount: amountIn(owner.currency, happens(0.8) ? 12 : 40),
      ...(key === undefined ? {} : { transactionUuid: key }),
    };
    return { kind: key && happens(0.2) ? 'keyInHeader' : 'single', operation };
  }

  function ownerOf(place: KeyedPlace, key: string) {
    const users = usersOf(place);
    const [, epoch = '0', number = '0'] = key.split('-');
    const index = Number(epoch) + Number(number);
    return {
      userId: users[index % users.length] ?? '',
      currency: index % 3 === 0 ? ('SOL' as const) : ('CHIP' as const),
    };
  }

  /** Two bets a pool, so that a settlement that nobody can know the right sums of is right often enough. */
  function ofPool(place: KeyedPlace, epoch: number): Asked {
    const number = (happens(0.8) ? epoch : upTo(epoch)) * POOLS_AN_EPOCH + upTo(POOLS_AN_EPOCH - 1);
    const poolId = happens(0.03) ? 'absent' : `pool-${number}`;
    const currency = number % 3 === 0 ? ('SOL' as const) : ('CHIP' as const);
    const currencyId = happens(0.04) ? pick([1, 2, 9]) : CURRENCY_IDS[currency];
    const bets = [1, 2].map((bet) => ({
      betId: `bet-${bet}`,
      userId: usersOf(place)[(number + bet) % usersOf(place).length] ?? '',
      amount: amountIn(currency, bet),
    }));
    const kind = upTo(99);
    if (kind < 40) {
      const { betId, ...usual } = pick(bets);
      const userId = happens(0.9) ? usual.userId : pick([...usersOf(place), NOBODY]);
      const amount = happens(0.92) ? usual.amount : amountIn(currency, 1 + upTo(90));
      return { op: 'lock', poolId, betId, userId, currencyId, amount };
    }
    if (kind < 70) return { op: 'confirm', poolId, betId: happens(0.97) ? pick(bets).betId : 'bet-3' };
    if (kind < 78) return { op: 'refundPool', poolId, ...(happens(0.5) ? { reason: 'rain' } : {}) };
    const confirmed = pick([bets.slice(0, 1), bets.slice(1), bets]);
    const staked = confirmed.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    const rake = happens(0.3) ? staked : happens(0.5) ? staked / 3n : 0n;
    const winner = pick(happens(0.9) ? confirmed : bets);
    const paid = { betId: winner.betId, userId: winner.userId, payout: `${staked - rake}` };
    const others = bets.filter((bet) => bet !== winner && happens(0.2));
    const losers = others.map(({ betId, userId }) => ({ betId, userId, payout: '0' }));
    const payouts =
      rake === staked && happens(0.5) ? [] : [paid, ...losers, ...(happens(0.03) ? [paid] : [])];
    return { op: 'settlePool', poolId, currencyId, rake: `${rake}`, payouts };
  }

  function ofReferrals(place: KeyedPlace, epoch: number): Asked {
    const users = usersOf(place);
    const anyone = () => (happens(0.12) ? NOBODY : pick(users));
    const kind = upTo(99);
    if (kind < 6) return { op: 'chain', userId: anyone(), depth: 1 + upTo(9) };
    if (kind < 12)
      return { op: 'code', userId: anyone(), code: codeOf(upTo(users.length - 1)).toUpperCase() };
    if (kind < 20) {
      return {
        op: 'attribute',
        userId: anyone(),
        code: happens(0.1) ? 'nobody' : codeOf(upTo(users.length - 1)),
      };
    }
    if (kind < 28) return { op: 'earned', userId: anyone(), currencyId: pick([1, 2, 2, 2, 9]) };
    // Usually the key determines everything that is asked under it.
    const number =
      (happens(0.8) ? epoch : upTo(epoch)) * COMMISSIONS_AN_EPOCH + upTo(COMMISSIONS_AN_EPOCH - 1);
    const drawn = happens(0.8) ? number : upTo(99);
    const currency = drawn % 4 === 0 ? ('SOL' as const) : ('CHIP' as const);
    const idemKey = `commission-${number}`;
    const userId = happens(0.85) ? (users[drawn % users.length] ?? '') : anyone();
    const currencyId = happens(0.04) ? 9 : CURRENCY_IDS[currency];
    const amount = amountIn(currency, 1 + (drawn % 7));
    switch (drawn % 3) {
      case 0:
        return {
          op: 'payout',
          ...{ idemKey, userId, currencyId, amount },
          ...(drawn % 2 === 0 ? { sourceUserId: users[drawn % 2] ?? '' } : {}),
          ...(happens(0.9) ? { memo: 'for a friend' } : {}),
        };
      case 1:
        return {
          op: 'distribute',
          idemKey,
          userId,
          currencyId,
          amount,
          levels: drawn % 2 === 0 ? [5000, 2500] : [1],
        };
      default:
        return { op: 'withdraw', idemKey, userId, currencyId, ...(drawn % 2 === 0 ? {} : { amount }) };
    }
  }

  function sessionIn(place: KeyedPlace, epoch: number): string {
    const key = openKey(epoch, upTo(OPENS_AN_EPOCH - 1));
    return idFromParts('ses', 'playSession', place.environment, place.appId, key);
  }

  function ofSession(sessionId: string): Asked {
    const kind = upTo(99);
    if (kind < 7) return { op: 'balance', sessionId };
    if (kind < 13) {
      return { op: 'settle', sessionId, ...(happens(0.8) ? { transactionUuid: otherKey() } : {}) };
    }
    return play(sessionId);
  }

  function play(sessionId: string): Asked {
    const kind = upTo(99);
    const round = happens(0.1) ? { roundId: 'round-1' } : {};
    if (kind < 50) {
      return { op: 'bet', sessionId, transactionUuid: betKey(), amount: stake(), ...round };
    }
    const transactionUuid = otherKey();
    const betTransactionUuid = betKey(transactionUuid);
    if (kind < 74)
      return { op: 'win', sessionId, transactionUuid, betTransactionUuid, amount: stake(), ...round };
    return { op: 'rollback', sessionId, transactionUuid, betTransactionUuid };
  }

  /** Most bets use the first and most other writes the last, but any may use any. */
  function betKey(other?: string): string {
    const key = `t${happens(0.85) ? 1 + upTo(8) : 1 + upTo(23)}`;
    return key === other ? `${key}x` : key;
  }
  function otherKey(): string {
    return `t${happens(0.9) ? 10 + upTo(14) : 1 + upTo(23)}`;
  }
  function stake(): string {
    // In SOL a tiny amount, and occasionally more than is available.
    return happens(0.1) ? (3n * SOL).toString() : `${upTo(3)}`;
  }
}

const openKey = (epoch: number, number: number) => `open-${epoch}-${number}`;

function amountIn(currency: 'SOL' | 'CHIP', units: number): string {
  return (currency === 'SOL' ? BigInt(units) * SOL : BigInt(units)).toString();
}
