/** Why a code does not count: the first of the reasons that hold. Source: contract, Referrals (attribution). */
import { expect } from 'chai';
import { createReferralWorld } from './testing/referralNodes.ts';

describe('an attribution', () => {
  async function startWorld() {
    const world = createReferralWorld();
    const { place, context } = world;
    const [{ codes, attributions }] = world.nodes;
    const newUser = async (code: string) => {
      const userId = await world.newUser();
      await codes.ensure(place, userId, code, context());
      return userId;
    };
    return {
      newUser,
      attribute: (userId: string, code: string) => attributions.attribute(place, userId, code, context()),
      eventCount: async () => (await world.events()).length,
    };
  }

  it('is refused for the first of these reasons, and then changes nothing', async () => {
    const { newUser, attribute, eventCount } = await startWorld();
    const [anna, ben, cleo] = [await newUser('Anna'), await newUser('Ben'), await newUser('Cleo')];
    const refusals = async (userId: string, expected: Readonly<Record<string, object>>) => {
      const before = await eventCount();
      for (const [code, refusal] of Object.entries(expected)) {
        const { answer, replayed } = await attribute(userId, code);
        expect({ answer, replayed }, code).to.deep.equal({
          answer: { attributed: false, ...refusal },
          replayed: false,
        });
      }
      expect(await eventCount()).to.equal(before);
    };

    await refusals(anna, { nobody: { reason: 'unknown_code' }, Anna: { reason: 'self' } });
    await attribute(ben, 'Anna');
    await attribute(cleo, 'Ben');
    await refusals(ben, {
      nobody: { reason: 'unknown_code' },
      Ben: { reason: 'self' },
      // It would close a circle, too.
      Cleo: { reason: 'already_attributed', referrerUserId: anna },
    });
    await refusals(anna, { Ben: { reason: 'cycle' }, Cleo: { reason: 'cycle' } });
  });

  it('is answered again as the first time, however the letters of the code are written', async () => {
    const { newUser, attribute, eventCount } = await startWorld();
    const [anna, ben] = [await newUser('Anna'), await newUser('Ben')];
    const attributed = { attributed: true, referrerUserId: anna };
    expect(await attribute(ben, 'ANNA')).to.deep.include({ answer: attributed, replayed: false });
    const before = await eventCount();
    expect(await attribute(ben, 'anna')).to.deep.include({ answer: attributed, replayed: true });
    expect(await eventCount()).to.equal(before);
  });
});
