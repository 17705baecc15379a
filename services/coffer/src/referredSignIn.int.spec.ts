/** Who brought a player, told by the sign-in. Source: specification, Sign-in; contract, Sign-in and Referrals. */
import { allowSignIn, launchDataOf, newWallet } from '@coffer/auth/testing';
import { requireStatus, setUpApp, type TestApp } from '@coffer/host/testing';
import { createPlayerClient, type FirstTouch, type PlayerClient } from '@coffer/sdk';
import { codeIn, type MailServer, startMailServer } from '@coffer/testing';
import { expect } from 'chai';
import { startWorld, type World } from './testing/world.ts';

describe('a sign-in with a referral code', () => {
  let mailServer: MailServer;
  let world: World;
  let app: TestApp;
  let referrer: string;
  let code: string;
  before(async () => {
    mailServer = await startMailServer();
    world = await startWorld({ environment: { SMTP_URL: mailServer.url } });
    app = await setUpApp(world.client);
    await allowSignIn(world.client, app.appId);
    referrer = await app.test.newPlayer('1');
    code = await codeOf(referrer);
  });
  after(async () => {
    await world.stop();
    await mailServer.stop();
  });

  const codeOf = async (userId: string, place = app.test): Promise<string> =>
    String(requireStatus(await place.post('/referrals/code', { userId }), 200).json.code);
  const newPage = (ofApp = app): PlayerClient =>
    createPlayerClient({ baseUrl: world.client.baseUrl, publishableKey: ofApp.test.publishableKey });
  const referrerOf = async (page: PlayerClient) => (await page.referrals.me()).referrer;
  const nextPerson = () => ({ id: ++people, username: `player${people}` });
  /** Signs in by the messenger as the same person each time. */
  const personOf = (ofApp = app) => {
    const person = nextPerson();
    return async (touch: FirstTouch & { readonly startParam?: string } = {}) => {
      const { startParam, ...firstTouch } = touch;
      const page = newPage(ofApp);
      const initData = launchDataOf(person, startParam === undefined ? {} : { startParam });
      const { user } = await page.messenger.verify({ initData, ...firstTouch });
      return { page, userId: user.id };
    };
  };

  it('attributes the player by a wallet', async () => {
    const page = newPage();
    await page.signInWithWallet({ ...newWallet(), referralCode: code });
    expect(await referrerOf(page)).to.deep.equal({ userId: referrer, code });
  });

  it('attributes the player by email', async () => {
    const page = newPage();
    const email = 'ada@player.example';
    await page.email.initiate(email);
    await page.email.verify({ email, code: codeIn(await mailServer.next(email)), referralCode: code });
    expect(await referrerOf(page)).to.deep.equal({ userId: referrer, code });
  });

  it('attributes the player by a messenger, in any case of the code', async () => {
    const { page } = await personOf()({ referralCode: code.toLowerCase() });
    expect(await referrerOf(page)).to.deep.equal({ userId: referrer, code });
  });

  it('takes the start parameter of the launch for the code, if none is given', async () => {
    const { page } = await personOf()({ startParam: code });
    expect(await referrerOf(page)).to.deep.equal({ userId: referrer, code });
    const other = await app.test.newPlayer('1');
    const both = await personOf()({ startParam: code, referralCode: await codeOf(other) });
    expect(await referrerOf(both.page)).to.include({ userId: other });
  });

  it('ignores what is nobody’s code, what is no code, another app’s, and another environment’s', async () => {
    const otherApp = await setUpApp(world.client);
    const foreign = await codeOf(await otherApp.test.newPlayer('1'), otherApp.test);
    const live = await codeOf(await app.live.newPlayer('1'), app.live);
    for (const referralCode of ['nobody', 'no code at all!', foreign, live]) {
      const { page } = await personOf()({ referralCode });
      expect(await referrerOf(page), referralCode).to.equal(null);
    }
  });

  it('ignores the player’s own code, and keeps the first referrer', async () => {
    const signIn = personOf();
    const { page, userId } = await signIn();
    await signIn({ referralCode: await codeOf(userId) });
    expect(await referrerOf(page)).to.equal(null);
    await signIn({ referralCode: code });
    expect(await referrerOf(page)).to.include({ userId: referrer });
    await signIn({ referralCode: await codeOf(await app.test.newPlayer('1')) });
    expect(await referrerOf(page)).to.include({ userId: referrer });
  });

  it('attributes at a later sign-in a player whose first code was bad', async () => {
    const signIn = personOf();
    await signIn({ referralCode: 'nobody' });
    const { page } = await signIn({ referralCode: code });
    expect(await referrerOf(page)).to.include({ userId: referrer });
  });

  it('counts the code of the first touch as soon as somebody has it, before that of a later sign-in', async () => {
    const signIn = personOf();
    await signIn({ referralCode: 'first-touch' });
    const owner = await app.test.newPlayer('1');
    requireStatus(await app.test.post('/referrals/code', { userId: owner, code: 'first-touch' }), 200);
    const { page } = await signIn({ referralCode: code });
    expect(await referrerOf(page)).to.include({ userId: owner });
  });

  it('ignores the code of a referrer who was erased, and leaves earlier attributions as they are', async () => {
    const owner = await personOf()();
    const { code: lost } = await owner.page.referrals.me();
    const before = await personOf()({ referralCode: lost });
    const erasing = `/portal/app/${app.appId}/test/users/${owner.userId}/erase`;
    requireStatus(await world.client.post(erasing, {}), 200);
    expect(await referrerOf(before.page)).to.deep.equal({ userId: owner.userId, code: null });
    const { page } = await personOf()({ referralCode: lost });
    expect(await referrerOf(page)).to.equal(null);
  });
});

let people = 9_000_000;
