import { PoisonEventError, type Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { recordedEvent } from '@coffer/testing';
import { expect } from 'chai';
import { findingCheck } from './discrepancies.ts';
import { causesWithoutEffect } from './inFlight.ts';

describe('what is in flight', () => {
  it('is a cause whose effect has not appeared, by its reaction and its key', async () => {
    expect(await pending('Owed a', 'Owed b', 'Paid a')).to.deep.equal(['pays b']);
    expect(await pending('Paid a')).to.deep.equal([]);
    expect(await pending()).to.deep.equal([]);
  });

  it('is the same however the log is cut into pages', async () => {
    const events = ['Owed a', 'Paid a', 'Owed a', 'Owed b'].map(recorded);
    const whole = await causesWithoutEffect([pays], pagesOf([events]));
    expect(await causesWithoutEffect([pays], pagesOf(events.map((event) => [event])))).to.deep.equal(whole);
    expect(whole.map(({ subject }) => subject)).to.deep.equal(['a', 'b']);
  });

  it('is not known past an event that its process cannot take, unless that is skipped', async () => {
    const events = ['Owed a', 'Garbled b', 'Owed c'].map(recorded);
    const failure = await causesWithoutEffect([pays], pagesOf([events])).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(PoisonEventError).with.nested.property('event.id', 'Garbled b');
    const found = await causesWithoutEffect([pays], pagesOf([events]), async ({ id }) => id === 'Garbled b');
    expect(found.map(({ subject }) => subject)).to.deep.equal(['a', 'c']);
  });

  it('excuses the finding that it explains, and no other', () => {
    const finding = (subject: string, excusedBy: string | undefined) => {
      return { subject, expected: null, actual: null, excusedBy };
    };
    const findings = [
      finding('a', 'account session:a'),
      finding('b', 'account session:b'),
      finding('c', undefined),
    ];
    const { check, discrepancies } = findingCheck('open_holds', 3, findings, ['account session:a']);
    expect(check).to.deep.equal({ name: 'open_holds', ok: false, examined: 3 });
    expect(discrepancies.map(({ subject }) => subject)).to.deep.equal(['b', 'c']);
  });
});

const pays: Reaction = {
  name: 'pays',
  causeOf({ type, data }) {
    if (type === 'Garbled') throw new Error('no such event');
    return type === 'Owed' ? { key: data, target: data } : undefined;
  },
  effectOf: ({ type, data }) => (type === 'Paid' ? data : undefined),
  act: async () => undefined,
};

function recorded(text: string): RecordedEvent {
  const [type = '', data = ''] = text.split(' ');
  return recordedEvent({ id: text, stream: 'things', type, data });
}

async function* pagesOf(pages: readonly (readonly RecordedEvent[])[]) {
  yield* pages;
}

async function pending(...texts: readonly string[]): Promise<readonly string[]> {
  const found = await causesWithoutEffect([pays], pagesOf([texts.map(recorded)]));
  return found.map(({ reaction, subject }) => `${reaction} ${subject}`);
}
