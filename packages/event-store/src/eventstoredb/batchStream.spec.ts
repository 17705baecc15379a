import { EventEmitter } from 'node:events';
import { failureOf } from '@coffer/testing';
import { NotLeaderError } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { expect } from 'chai';
import { newEvents } from '../testing/events.ts';
import {
  type BatchCall,
  type BatchStream,
  type BatchStreamOptions,
  NotSentError,
  openBatchStream,
} from './batchStream.ts';
import { AnsweredError, SilenceError } from './failures.ts';

const NEVER_MS = 1_000_000;

/** The server's side of a call. */
class FakeCall extends EventEmitter implements BatchCall {
  readonly received: InstanceType<typeof streams.BatchAppendReq>[] = [];
  takes = true;
  isEnded = false;
  isCancelled = false;

  write(request: Buffer): boolean {
    this.received.push(streams.BatchAppendReq.deserializeBinary(request));
    return this.takes;
  }
  end(): void {
    this.isEnded = true;
  }
  cancel(): void {
    this.isCancelled = true;
  }
  answer(
    index: number,
    change: (response: InstanceType<typeof streams.BatchAppendResp>) => void = written,
  ): void {
    const response = new streams.BatchAppendResp();
    response.setCorrelationId(this.received[index]?.getCorrelationId());
    change(response);
    this.emit('data', response);
  }
}

const written = (response: InstanceType<typeof streams.BatchAppendResp>, revision = '0') => {
  const position = new shared.AllStreamPosition().setCommitPosition('7').setPreparePosition('7');
  response.setSuccess(
    new streams.BatchAppendResp.Success().setCurrentRevision(revision).setPosition(position),
  );
};

const request = (name: string) =>
  ({ stream: `spec-test.app.${name}`, expectedRevision: 'noStream', events: newEvents(1) }) as const;

async function openCall(options: Partial<BatchStreamOptions> = {}) {
  const call = new FakeCall();
  const told: unknown[] = [];
  const stream = openBatchStream({
    open: async () => call,
    patienceMs: NEVER_MS,
    timeoutMs: NEVER_MS,
    onSilence: () => told.push('silence'),
    onEnded: (error) => told.push(error ?? 'ended'),
    ...options,
  });
  await Promise.resolve();
  opened.push(stream);
  return { call, stream, told };
}
const opened: BatchStream[] = [];

describe('a stream of appends', () => {
  afterEach(() => {
    for (const stream of opened.splice(0)) stream.abandon(new Error('The spec is over.'));
  });

  it('gives each append its own answer, in whatever order they come', async () => {
    const { call, stream } = await openCall();
    const answers = Array.from({ length: 50 }, (_, index) => stream.append(request(`${index}`)));
    for (let index = 49; index >= 0; index--) call.answer(index, (response) => written(response, `${index}`));
    const revisions = (await Promise.all(answers)).map(({ revision }) => revision);
    expect(revisions).to.deep.equal(answers.map((_, index) => index));
  });

  it('understands ids that are answered in their other form', async () => {
    const { call, stream } = await openCall();
    const answer = stream.append(request('a'));
    const id = call.received[0]?.getCorrelationId()?.getString().replaceAll('-', '') ?? '';
    const half = (from: number) => `${BigInt.asIntN(64, BigInt(`0x${id.slice(from, from + 16)}`))}`;
    const structured = new shared.UUID.Structured();
    structured.setMostSignificantBits(half(0)).setLeastSignificantBits(half(16));
    call.answer(0, (response) => {
      response.setCorrelationId(new shared.UUID().setStructured(structured));
      written(response);
    });
    expect(await answer).to.deep.equal({ revision: 0, position: '7/7' });
  });

  it('reports one failure among many to the one caller', async () => {
    const { call, stream } = await openCall();
    const answers = Array.from({ length: 20 }, (_, index) => stream.append(request(`${index}`)));
    const refused = failureOf(answers[7] ?? Promise.resolve());
    for (const index of answers.keys()) {
      call.answer(index, (response) => {
        if (index === 7) response.setError(new status.Status().setCode(6).setMessage('not there'));
        else written(response);
      });
    }
    expect(await refused)
      .to.be.instanceOf(AnsweredError)
      .and.to.include({ code: 6 });
    const results = await Promise.allSettled(answers);
    expect(results.filter((result) => result.status === 'rejected')).to.have.length(1);
    expect(stream.isOpen()).to.equal(true);
  });

  it('that breaks tells who was sent and who was not', async () => {
    const { call, stream, told } = await openCall();
    const answers = Array.from({ length: 1_500 }, (_, index) => stream.append(request(`${index}`)));
    expect(call.received).to.have.length(1_000);
    const rejections = Promise.all(answers.map(failureOf));
    const lost = new Error('Connection dropped');
    call.emit('error', lost);
    const errors = await rejections;
    expect(new Set(errors.slice(0, 1_000))).to.deep.equal(new Set([lost]));
    for (const error of errors.slice(1_000)) expect(error).to.be.instanceOf(NotSentError);
    expect(told).to.deep.equal([lost]);
    expect(call.isCancelled).to.equal(true);
    expect(await failureOf(stream.append(request('later')))).to.be.instanceOf(NotSentError);
  });

  it('that the server ends is broken too', async () => {
    const { call, stream, told } = await openCall();
    const rejection = failureOf(stream.append(request('a')));
    call.emit('end');
    expect(String(await rejection)).to.include('ended');
    expect(told).to.have.length(1);
  });

  it('that a node refuses because it does not lead has written nothing if there was one append', async () => {
    const notLeader = Object.create(NotLeaderError.prototype) as NotLeaderError;
    const one = await openCall();
    const alone = failureOf(one.stream.append(request('a')));
    one.call.emit('error', notLeader);
    expect(await alone).to.be.instanceOf(NotSentError);
    const two = await openCall();
    const both = Promise.all(['a', 'b'].map((name) => failureOf(two.stream.append(request(name)))));
    two.call.emit('error', notLeader);
    expect(await both).to.deep.equal([notLeader, notLeader]);
  });

  it('that could not be opened has sent nothing', async () => {
    const { stream } = await openCall({ open: () => Promise.reject(new Error('no channel')) });
    expect(await failureOf(stream.append(request('a')))).to.be.instanceOf(NotSentError);
  });

  it('waits while the connection takes no more', async () => {
    const { call, stream } = await openCall();
    call.takes = false;
    const answers = [stream.append(request('a')), stream.append(request('b'))];
    expect(call.received).to.have.length(1);
    call.takes = true;
    call.emit('drain');
    expect(call.received).to.have.length(2);
    call.answer(0);
    call.answer(1);
    await Promise.all(answers);
  });

  it('that is left answers what is under way, and then ends', async () => {
    const { call, stream, told } = await openCall();
    const answer = stream.append(request('a'));
    stream.leave();
    expect(stream.isOpen()).to.equal(false);
    expect(await failureOf(stream.append(request('b')))).to.be.instanceOf(NotSentError);
    expect(call.isEnded).to.equal(false);
    call.answer(0);
    await answer;
    expect(call.isEnded).to.equal(true);
    expect(told).to.deep.equal(['ended']);
    // The end of the call is no news.
    call.emit('end');
    stream.leave();
    stream.abandon(new Error('another leads'));
    expect(told).to.deep.equal(['ended']);
  });

  it('that is silent is left, and then its appends are given up; a late answer harms nobody', async () => {
    const { call, stream, told } = await openCall({ patienceMs: 1, timeoutMs: 20 });
    const rejection = failureOf(stream.append(request('a')));
    expect(await rejection).to.be.instanceOf(SilenceError);
    expect(told).to.deep.equal(['silence', 'ended']);
    call.answer(0);
  });
});
