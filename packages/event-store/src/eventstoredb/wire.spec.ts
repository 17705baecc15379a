/** Texts of events, whose values the client has parsed. */
import type { RecordedEvent as ClientEvent } from '@eventstore/db-client';
import { expect } from 'chai';
import fc from 'fast-check';
import { InvalidAppendError } from '../errors.ts';
import { newEvent } from '../testing/events.ts';
import { deepText } from './jsonText.ts';
import { checkTexts, recordedEvent } from './wire.ts';

/** More than `JSON.stringify` can write. */
const DEEP = `{"a":${'[{"b":1,"c":'.repeat(50_000)}null${'}]'.repeat(50_000)}}`;

describe('the text of an event', () => {
  it('is as it was written, however deeply it is nested', () => {
    const event = {
      streamId: 'crm-1',
      id: 'ID',
      type: 'T',
      data: JSON.parse(DEEP),
      metadata: JSON.parse(DEEP),
      revision: 0n,
      position: { commit: 1n, prepare: 1n },
      created: new Date(0),
    };
    // Of the client's events only these fields are read.
    const read = recordedEvent(event as unknown as ClientEvent);
    expect(read?.data === DEEP).to.equal(true);
    expect(read?.metadata === DEEP).to.equal(true);
  });

  it('is the same with and without recursion', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = JSON.parse(text);
        expect(deepText(value)).to.equal(JSON.stringify(value));
      }),
    );
  });

  it('is refused where it is nested too deeply for others who read the log', () => {
    expect(() => checkTexts(newEvent({ data: DEEP }))).to.throw(InvalidAppendError);
    expect(() => checkTexts(newEvent({ metadata: DEEP }))).to.throw(InvalidAppendError);
  });
});
