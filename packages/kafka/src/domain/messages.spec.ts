import { recordedEvent } from '@coffer/testing';
import { expect } from 'chai';
import { factMessage, sizeOf, toldMessage } from './messages.ts';
import { PREFIX, topicNames } from './topics.ts';

const APP = 'app_01h455vb4pex5vsknk084sn02q';
const SCOPE = 'scp_01h455vb4pex5vsknk084sn02q';
const topics = topicNames('coffer');
const bet = recordedEvent({
  stream: `playSession-live.${APP}.ses_1`,
  revision: 3,
  type: 'BetPlaced',
  data: '{"transactionUuid":"a","amount":"18446744073709551615","balance":"0"}',
  recordedAt: new Date('2026-02-01T00:00:00.500Z'),
});

describe('an event as a message', () => {
  const message = factMessage(bet, 41, topics);

  it('goes to the topic of its environment and category', () =>
    expect(message.topic).to.equal('coffer.live.playSession'));

  it('has its stream as its key, which keeps the order of the stream', () =>
    expect(message.key).to.equal(bet.stream));

  it('is a CloudEvent with the stored data, amounts as text', () =>
    expect(JSON.parse(message.value.toString())).to.deep.equal({
      specversion: '1.0',
      id: bet.id,
      source: `/coffer/live/${APP}`,
      type: 'coffer.playSession.BetPlaced',
      subject: bet.stream,
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      dataschema: 'urn:coffer:event:playSession:BetPlaced:1',
      environment: 'live',
      app: APP,
      revision: 3,
      ordinal: '41',
      schemaversion: 1,
      data: { transactionUuid: 'a', amount: '18446744073709551615', balance: '0' },
    }));

  it('names its attributes as CloudEvents allow', () => {
    for (const name of Object.keys(JSON.parse(message.value.toString())))
      expect(name).to.match(/^[a-z0-9]{1,20}$/);
  });

  it('can be filtered by its headers', () =>
    expect(message.headers).to.deep.equal({
      'content-type': 'application/cloudevents+json; charset=UTF-8',
      type: 'coffer.playSession.BetPlaced',
      app: APP,
      revision: '3',
      ordinal: '41',
    }));

  it('has the time at which the log recorded it', () =>
    expect(Number(message.timestamp)).to.equal(bet.recordedAt.getTime()));

  it('names the scope where the stream belongs to one', () => {
    const user = factMessage(
      recordedEvent({ stream: `user-test.${SCOPE}.usr_1`, type: 'UserSuspended' }),
      1,
      topics,
    );
    expect(JSON.parse(user.value.toString())).to.include({ scope: SCOPE }).and.not.have.property('app');
    expect(user.headers).to.include({ scope: SCOPE });
  });

  it('says neither who acted nor which request it was', () =>
    expect(message.value.toString()).to.not.match(/actor|correlation|causation|key:1|request-1/));

  it('is never a tombstone, even of an event without data', () =>
    expect(factMessage({ ...bet, data: '{}' }, 1, topics).value.length).to.be.greaterThan(0));

  it('is counted with everything that it takes', () =>
    expect(sizeOf(message)).to.be.greaterThan(message.value.length + message.key.length));
});

describe('what webhooks tell, as a message', () => {
  const bytes = Buffer.from('{"id":"evt_1"}');
  const message = toldMessage(
    {
      appId: APP,
      environment: 'test',
      sequence: 7,
      type: 'user.created',
      createdAt: new Date(5),
      bytes,
    },
    topics,
  );

  it('is what a webhook would bring, by app, with its number', () =>
    expect(message).to.deep.equal({
      topic: 'coffer.test.events',
      key: APP,
      value: bytes,
      headers: { 'content-type': 'application/json', type: 'user.created', app: APP, sequence: '7' },
      timestamp: '5',
    }));
});

describe('the prefix of topics', () => {
  for (const prefix of ['coffer', 'studio.wallets', 'a-b_C.9']) {
    it(`may be ${prefix}`, () => expect(PREFIX.test(prefix)).to.equal(true));
  }
  for (const prefix of ['', '.coffer', 'coffer.', 'a b', 'a/b', 'a'.repeat(65)]) {
    it(`may not be ${JSON.stringify(prefix)}`, () => expect(PREFIX.test(prefix)).to.equal(false));
  }
});
