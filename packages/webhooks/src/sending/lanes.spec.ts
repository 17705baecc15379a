import { expect } from 'chai';
import { createLanes, type Due, MOST_FAILING_IN_FLIGHT, MOST_IN_FLIGHT } from './lanes.ts';

const MANY = 5_000;

describe('the lanes of a sender', () => {
  const idsOf = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${prefix}_${index}`);
  const answering = (ids: readonly string[]) =>
    ids.map((subscriptionId) => ({ subscriptionId, isFailing: false }));
  const failing = (ids: readonly string[]) =>
    ids.map((subscriptionId) => ({ subscriptionId, isFailing: true }));
  let lanes: ReturnType<typeof createLanes>;
  let lastSequence: number;
  beforeEach(() => {
    lanes = createLanes();
    lastSequence = 0;
  });

  /** There is always more to be sent in each. */
  function takeWithBacklog(): readonly Due[] {
    lanes.stir();
    const needs = lanes.needs();
    const due = needs.flatMap(({ subscriptionId, ahead }) =>
      Array.from({ length: ahead }, () => {
        lastSequence += 1;
        const event = { eventId: `evt_${lastSequence}`, type: 'user.created', body: '{}' };
        return {
          subscriptionId,
          sequence: String(lastSequence),
          number: 1,
          previousSequence: null,
          ...event,
        };
      }),
    );
    lanes.supply(needs, due, lanes.stirs());
    return lanes.take();
  }
  function end(due: readonly Due[], succeeded: boolean) {
    for (const one of due) {
      lanes.end(one.subscriptionId, succeeded);
      lanes.recorded(one);
    }
  }
  const subscriptionsOf = (due: readonly Due[]) => new Set(due.map(({ subscriptionId }) => subscriptionId));

  it('have no more attempts under way than all may have together, however many they are', () => {
    lanes.hold(answering(idsOf('whk', MANY)));
    expect(takeWithBacklog()).to.have.length(MOST_IN_FLIGHT);
    expect(takeWithBacklog()).to.have.length(0);
  });

  it('have no more than that when others come while attempts are under way', () => {
    lanes.hold(answering(idsOf('whk', 2)));
    for (let round = 0; round < 40; round += 1) end(takeWithBacklog(), true);
    const before = takeWithBacklog();
    expect(before).to.have.length(64);
    lanes.hold(answering([...idsOf('whk', 2), ...idsOf('more', MANY)]));
    expect(takeWithBacklog()).to.have.length(MOST_IN_FLIGHT - before.length);
  });

  it('take turns where they are more than that', () => {
    const ids = idsOf('whk', MANY);
    lanes.hold(answering(ids));
    const served: string[] = [];
    for (let round = 0; round < Math.ceil(MANY / MOST_IN_FLIGHT); round += 1) {
      const due = takeWithBacklog();
      served.push(...subscriptionsOf(due));
      end(due, true);
    }
    expect(new Set(served).size).to.equal(MANY);
  });

  it('take turns also while all of them fail', () => {
    lanes.hold(failing(idsOf('whk', MANY)));
    const served: string[] = [];
    for (let round = 0; round < Math.ceil(MANY / MOST_FAILING_IN_FLIGHT); round += 1) {
      const due = takeWithBacklog();
      expect(due).to.have.length(MOST_FAILING_IN_FLIGHT);
      served.push(...subscriptionsOf(due));
      end(due, false);
    }
    expect(new Set(served).size).to.equal(MANY);
  });

  it('that answer do not wait for any number of those that hang', () => {
    const healthy = idsOf('healthy', 10);
    lanes.hold([...failing(idsOf('hanging', MANY)), ...answering(healthy)]);
    for (let round = 0; round < 5; round += 1) {
      const due = takeWithBacklog();
      const sent = due.filter(({ subscriptionId }) => healthy.includes(subscriptionId));
      expect(subscriptionsOf(sent)).to.deep.equal(new Set(healthy));
      end(sent, true);
    }
  });
});
