import { expect } from 'chai';
import { type SendingWorld, startSendingWorld } from './testing/sendingWorld.ts';

describe('a rotation of a secret', () => {
  let world: SendingWorld;
  let id: string;
  beforeEach(async () => {
    world = await startSendingWorld();
    ({
      subscription: { id },
    } = await world.subscribe({ url: 'https://hooks.example/' }));
  });
  afterEach(() => world.stop());

  const rotate = (key?: string) =>
    world.change((change) => world.subscriptions.rotate(change, 'app_1', id, key));

  it('is told again under its key as long as both secrets sign, and is another one after that', async () => {
    const first = await rotate('r-1');
    world.advance(24 * 60 * 60_000 - 1);
    expect(await rotate('r-1')).to.deep.equal({ ...first, replayed: true });
    world.advance(1);
    const later = await rotate('r-1');
    expect(later.replayed).to.equal(false);
    expect(later.secret).not.to.equal(first.secret);
  });

  it('is one of two that come at once under one key', async () => {
    const [one, other] = await Promise.all([rotate('r-1'), rotate('r-1')]);
    expect(one.secret).to.equal(other.secret);
    expect([one.replayed, other.replayed]).to.have.members([true, false]);
  });

  it('is another one under no key', async () => {
    const first = await rotate();
    expect((await rotate()).secret).not.to.equal(first.secret);
  });
});
