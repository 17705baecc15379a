import type { RecordedEvent } from '@coffer/event-store';
import { recordedEvent } from '@coffer/testing';
import { expect } from 'chai';
import { carriesMoves } from './move.reactions.ts';
import { moveWorld } from './testing/moveWorld.ts';

const STREAM = 'move-test.app_01h455vb4pex5vsknk084sn02q.mov_01h455vb4pex5vsknk084sn02q';

describe('the reaction that carries moves', () => {
  const reaction = carriesMoves({ drive: async () => {} }, 'test');

  it('owes every requested move its end', async () => {
    const requested = await moveWorld().request();
    const event = recorded({ ...requested });
    expect(reaction.causeOf(event)).to.deep.equal({ key: requested.stream, target: requested.stream });
    expect(reaction.effectOf(event)).to.equal(undefined);
  });

  it('takes only confirmation and failure as the end', () => {
    const effectOf = (type: string, stream = STREAM) => reaction.effectOf(recorded({ type, stream }));
    expect(effectOf('MoveConfirmed')).to.equal(STREAM);
    expect(effectOf('MoveFailed')).to.equal(STREAM);
    for (const type of ['TransactionSigned', 'TransactionSubmitted', 'TransactionExpired']) {
      expect(effectOf(type), type).to.equal(undefined);
      expect(reaction.causeOf(recorded({ type })), type).to.equal(undefined);
    }
    expect(effectOf('MoveConfirmed', 'other-test.app_1.x')).to.equal(undefined);
  });

  it('leaves the moves of the other environment alone, even those that it cannot read', async () => {
    const live = await moveWorld().request({}, 'live');
    expect(reaction.causeOf(recorded(live))).to.equal(undefined);
    expect(reaction.causeOf(recorded({ stream: live.stream, data: '{}' }))).to.equal(undefined);
    expect(reaction.effectOf(recorded({ type: 'MoveFailed', stream: live.stream }))).to.equal(undefined);
    const ofLive = carriesMoves({ drive: async () => {} }, 'live');
    expect(ofLive.causeOf(recorded(live))).to.deep.equal({ key: live.stream, target: live.stream });
  });

  it('does not guess at a request that it cannot read', () => {
    expect(() => reaction.causeOf(recorded({ type: 'MoveRequested', data: '{}' }))).to.throw();
  });

  it('ends a drive at once when told to stop, and another resumes it', async () => {
    const world = moveWorld();
    world.faults.send = () => 'drop';
    const requested = recorded(await world.request());
    const stopping = new AbortController();
    const stopped = carriesMoves(world.driver(), 'test')
      .act(requested, stopping.signal)
      .catch((error: unknown) => error);
    world.clock.after(3_000, () => stopping.abort(new Error('stopping')));
    expect(await world.clock.runUntil(stopped)).to.equal(stopping.signal.reason);
    expect(world.clock.nowMs(), 'not a moment later').to.equal(3_000);

    world.faults.send = () => 'land';
    await world.clock.runUntil(
      carriesMoves(world.driver(), 'test').act(requested, new AbortController().signal),
    );
    expect(world.told).to.deep.equal(['signed', 'confirmed']);
  });
});

const recorded = (given: Partial<RecordedEvent>) =>
  recordedEvent({ type: 'MoveRequested', stream: STREAM, ...given });
