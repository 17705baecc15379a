import { eventCodec, figure, Rejection, type StreamType } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';
import { givenWhenThen } from './givenWhenThen.ts';

const coinEvents = eventCodec({ CoinAdded: { data: z.object({ id: z.string(), value: figure }) } });
type CoinAdded = {
  readonly type: 'CoinAdded';
  readonly data: { readonly id: string; readonly value: bigint };
};
interface AddCoin {
  readonly id: string;
  readonly value: bigint;
}

/** A jar that takes each coin once, and none above a limit. */
const jar: StreamType<AddCoin, CoinAdded, ReadonlyMap<string, bigint>, bigint> = {
  category: 'jar',
  version: 1,
  codec: coinEvents,
  initialState: new Map(),
  decide(coins, { id, value }) {
    const seen = coins.get(id);
    if (seen !== undefined) return { events: [], answer: seen, replayed: true };
    if (value > 100n) throw new Rejection('jar/too_large', { value });
    return { events: [coin(id, value)], answer: value };
  },
  evolve: (coins, { data }) => new Map(coins).set(data.id, data.value),
  sizeOf: () => 1,
};

const coin = (id: string, value: bigint): CoinAdded => ({ type: 'CoinAdded', data: { id, value } });
const given = givenWhenThen(jar);
const fails = (sentence: () => unknown) => expect(sentence).to.throw();

describe('given, when, then', () => {
  it('compares the events and the answer', () => {
    given().when({ id: 'a', value: 5n }).thenHappened(coin('a', 5n)).andAnswers(5n);
    given().when({ id: 'a', value: 5n }).thenAnswers(5n);
    fails(() => given().when({ id: 'a', value: 5n }).thenHappened(coin('a', 6n)));
    fails(() => given().when({ id: 'a', value: 5n }).thenHappened());
    fails(() => given().when({ id: 'a', value: 5n }).thenHappened(coin('a', 5n)).andAnswers(6n));
    fails(() => given().when({ id: 'a', value: 5n }).thenAnswers(6n));
  });

  it('tells a replay from a first answer', () => {
    given(coin('a', 5n)).when({ id: 'a', value: 9n }).thenNothingHappened().andReplays(5n);
    fails(() => given(coin('a', 5n)).when({ id: 'a', value: 9n }).thenNothingHappened().andAnswers(5n));
    fails(() => given().when({ id: 'a', value: 5n }).thenNothingHappened());
  });

  it('compares the code and the details of a refusal', () => {
    given().when({ id: 'a', value: 101n }).thenRejects('jar/too_large', { value: 101n });
    fails(() => given().when({ id: 'a', value: 101n }).thenRejects('jar/too_large'));
    fails(() => given().when({ id: 'a', value: 101n }).thenRejects('jar/full', { value: 101n }));
    fails(() => given().when({ id: 'a', value: 1n }).thenRejects('jar/too_large', { value: 101n }));
  });

  it('lets an error that is not a refusal through', () => {
    const broken = givenWhenThen({
      ...jar,
      decide() {
        throw new TypeError('a mistake of ours');
      },
    });
    expect(() => broken().when({ id: 'a', value: 1n }).thenRejects('jar/too_large')).to.throw(TypeError);
  });

  it('sends every command twice', () => {
    const forgetful = givenWhenThen({ ...jar, evolve: (coins) => coins });
    expect(() => forgetful().when({ id: 'a', value: 5n }).thenHappened(coin('a', 5n))).to.throw(/again/);
  });

  it('requires a replay to give the first answer', () => {
    const drifting = givenWhenThen({
      ...jar,
      evolve: (coins, { data }) => new Map(coins).set(data.id, data.value + 1n),
    });
    expect(() => drifting().when({ id: 'a', value: 5n }).thenHappened(coin('a', 5n))).to.throw(/replayed/);
  });

  it('passes every event through the codec', () => {
    const lossy = givenWhenThen({
      ...jar,
      codec: { ...coinEvents, decode: () => coin('another', 1n) },
    });
    expect(() => lossy(coin('a', 5n)).when({ id: 'b', value: 5n })).to.throw(/encoding/);
    expect(() => lossy().when({ id: 'a', value: 5n }).thenHappened(coin('a', 5n))).to.throw(/encoding/);
  });
});
