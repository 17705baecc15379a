import { givenWhenThen, holdsEventFixtures } from '@coffer/testing';
import { expect } from 'chai';
import { type Skip, type SkipCommand, type Skips, skip, skipStreamName, skipStreamOf } from './skip.ts';

const APP = 'app_01h455vb4pex5vsknk084sn02q';
const given = givenWhenThen(skip);

const asked: Omit<Skip, 'skippedAt'> = {
  consumer: 'holds',
  eventId: '0198a3c5-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
  stream: `account-live.${APP}.usr_01h455vb4pex5vsknk084sn02q.2`,
  revision: 3,
  eventType: 'FundsHeld',
  reason: 'of a purpose that nobody has',
};
const skipEvent = (fields: Partial<SkipCommand> = {}): SkipCommand => ({
  type: 'SkipEvent',
  at: new Date('2026-02-01T00:00:00.000Z'),
  ...asked,
  ...fields,
});
const skipped = (fields: Partial<Skip> = {}) =>
  ({
    type: 'EventSkipped',
    data: { ...asked, skippedAt: '2026-02-01T00:00:00.000Z', ...fields },
  }) as const;

describe('a skip', () => {
  it('is recorded once, with its reason', () => {
    given().when(skipEvent()).thenHappened(skipped()).andAnswers(skipped().data);
    given(skipped())
      .when(skipEvent({ at: new Date() }))
      .thenNothingHappened()
      .andReplays(skipped().data);
  });

  it('is answered with the same bytes, whoever asks first and in whatever order', () => {
    const { reason, ...fields } = skipEvent();
    const reordered: SkipCommand = { reason, ...fields };
    const answered = (history: Skips) => JSON.stringify(skip.decide(history, reordered).answer);
    expect(answered(new Map())).to.equal(answered(new Map([[asked.eventId, skipped().data]])));
  });

  it('of an event that is skipped for another reason is refused', () =>
    given(skipped())
      .when(skipEvent({ reason: 'something else' }))
      .thenRejects('portal/already_skipped', {
        eventId: asked.eventId,
        reason: asked.reason,
      }));

  it('of another event does not replace it', () =>
    given(skipped())
      .when(skipEvent({ eventId: 'another' }))
      .thenHappened(skipped({ eventId: 'another' })));

  it('stands with the owner of the event, and is of one consumer', () => {
    const stream = `skip-live.${APP}.holds`;
    expect(skipStreamName({ environment: 'live', owner: APP, consumer: 'holds' })).to.equal(stream);
    expect(skipStreamOf('holds', asked.stream)).to.equal(stream);
    expect(skipStreamOf('readModels', asked.stream)).to.equal(`skip-live.${APP}.readModels`);
    expect(skipStreamOf('holds', 'order-2')).to.equal(undefined);
  });

  describe('in its stored form', () =>
    holdsEventFixtures(skip, new URL('fixtures/', import.meta.url), {
      repeatOf: ({ data: { skippedAt, ...data } }): SkipCommand => ({
        type: 'SkipEvent',
        at: new Date(skippedAt),
        ...data,
      }),
      textOf: JSON.stringify,
    }));
});
