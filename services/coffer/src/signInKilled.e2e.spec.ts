/**
 * A service that dies at any step of a first sign-in, and two that receive the same one at once. Source:
 * architecture, Processes; contract, Sign-in and sessions.
 */

import { newWallet } from '@coffer/auth/testing';
import type { TestApp } from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { expireLeases } from '@coffer/read-models/testing';
import type { Session } from '@coffer/sdk';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import {
  codeOf,
  dieDuring,
  newcomers,
  pageAt,
  type SignInAs,
  typesOf,
  useMortalNodes,
} from './testing/mortalNodes.ts';
import type { ServiceProcess } from './testing/serviceProcess.ts';

const FIRST_SIGN_IN = ['IdentityClaimed', 'UserRegistered', 'IdentityLinked', 'WalletProvisioned'];
const AT_ONCE = 50;

interface Death {
  readonly at: FailPointName;
  readonly method: keyof typeof newcomers;
  /** How many of the events are then in the log. */
  readonly written: number;
}

const DEATHS: readonly Death[] = [
  { at: 'signIn.beforeClaim', method: 'siws', written: 0 },
  { at: 'signIn.claimed', method: 'siws', written: 1 },
  { at: 'signIn.registered', method: 'siws', written: 3 },
  { at: 'signIn.provisioned', method: 'siws', written: 4 },
  { at: 'signIn.kept', method: 'siws', written: 4 },
  { at: 'signIn.claimed', method: 'messenger', written: 1 },
  { at: 'signIn.kept', method: 'messenger', written: 4 },
];
const nameOf = ({ at, method }: Death) => `by ${method}, at ${at}`;

describe('a service that dies in the middle of a first sign-in', () => {
  const nodes = useMortalNodes();
  let node: ServiceProcess;

  before(async () => {
    node = await nodes.start(['api']);
  });

  interface Newcomer {
    readonly app: TestApp;
    readonly signIn: SignInAs;
  }
  const newcomer = async (method: Death['method'] = 'siws'): Promise<Newcomer> => ({
    app: await nodes.newApp(node),
    signIn: newcomers[method](),
  });
  const dieSigningIn = async (at: FailPointName, { app, signIn }: Newcomer) => {
    const doomed = await nodes.start(['api'], at);
    await dieDuring(doomed, signIn(pageAt(doomed, app)));
  };
  const dieEverywhere = async () => {
    const left = new Map<Death, Newcomer>();
    for (const death of DEATHS) {
      const one = await newcomer(death.method);
      await dieSigningIn(death.at, one);
      left.set(death, one);
    }
    return left;
  };
  const eventTypes = async ({ app }: Newcomer) => typesOf(await nodes.events(node, app));
  const signInAgain = ({ app, signIn }: Newcomer) => signIn(pageAt(node, app));

  /** One user with one wallet and one key, shared by all these sessions and all later ones. */
  async function expectOneUser(one: Newcomer, sessions: readonly Session[]): Promise<void> {
    const [claimed, registered, , provisioned] = await nodes.events(node, one.app);
    expect(await eventTypes(one)).to.deep.equal(FIRST_SIGN_IN);
    const { userId } = Object(claimed?.data);
    const { address } = Object(provisioned?.data);
    expect(registered?.stream).to.include(userId);
    expect(provisioned?.data).to.include({ userId });
    expect(await nodes.keptAddresses(one.app)).to.deep.equal([address]);

    for (const { user } of [...sessions, await signInAgain(one), await signInAgain(one)]) {
      expect(user.id).to.equal(userId);
      expect(user.wallets.map((wallet) => wallet.address)).to.deep.equal([address]);
    }
    expect(await eventTypes(one)).to.deep.equal(FIRST_SIGN_IN);
    expect(await nodes.keptAddresses(one.app)).to.deep.equal([address]);
  }

  describe('and the player comes back', () => {
    let left: ReadonlyMap<Death, Newcomer>;
    before(async () => {
      left = await dieEverywhere();
    });

    for (const death of DEATHS) {
      it(`${nameOf(death)}: there is one user with one wallet`, async () => {
        const one = left.get(death) ?? expect.fail();
        expect(await eventTypes(one)).to.deep.equal(FIRST_SIGN_IN.slice(0, death.written));
        await expectOneUser(one, [await signInAgain(one)]);
      });
    }
  });

  describe('and nobody comes back', () => {
    let left: ReadonlyMap<Death, Newcomer>;
    let finisher: ServiceProcess;
    before(async () => {
      left = await dieEverywhere();
      // It serves no player, yet has everything the claims need.
      finisher = await nodes.start(['process-manager']);
    });
    after(() => finisher.terminate());

    for (const death of DEATHS) {
      const outcome = death.written === 0 ? 'nothing has happened' : 'the process finishes what was claimed';
      it(`${nameOf(death)}: ${outcome}`, async () => {
        const one = left.get(death) ?? expect.fail();
        const expected = death.written === 0 ? 0 : FIRST_SIGN_IN.length;
        await eventually('the user has a wallet', async () => {
          const { length } = await eventTypes(one);
          return length >= expected || undefined;
        });
        expect(await eventTypes(one)).to.deep.equal(FIRST_SIGN_IN.slice(0, expected));
        expect(await nodes.keptAddresses(one.app)).to.have.length(Math.sign(expected));
        if (expected === 0) await signInAgain(one);
        await expectOneUser(one, []);
      });
    }
  });

  describe('and the process that finishes it dies as well', () => {
    for (const at of ['signIn.registered', 'signIn.provisioned'] as const) {
      it(`at ${at}: the next one leaves one user with one wallet`, async () => {
        const one = await newcomer();
        const finisher = await nodes.start(['process-manager'], at);
        await dieSigningIn('signIn.claimed', one);
        expect(await finisher.ended).to.include({ signal: 'SIGKILL' });
        const written = DEATHS.find((death) => death.at === at)?.written;
        expect(await eventTypes(one)).to.deep.equal(FIRST_SIGN_IN.slice(0, written));

        await expireLeases(nodes.pool(), 'records');
        const next = await nodes.start(['process-manager']);
        await eventually('the user has a wallet', async () => {
          const { length } = await eventTypes(one);
          return length === FIRST_SIGN_IN.length || undefined;
        });
        await next.terminate();
        await expectOneUser(one, []);
      });
    }
  });

  describe('or does not die, while another does the same', () => {
    let both: readonly ServiceProcess[];
    before(async () => {
      // Along with the process, which does not wait.
      both = await Promise.all([1, 2].map(() => nodes.start(['api', 'process-manager'])));
    });

    const atOnce = <Result>(act: (service: ServiceProcess) => Promise<Result>) =>
      Promise.all(Array.from({ length: AT_ONCE }, (_, index) => act(both[index % 2] ?? node)));

    for (const method of ['siws', 'messenger'] as const) {
      it(`by ${method}: ${AT_ONCE} first sign-ins at once are one user with one wallet`, async () => {
        const one = await newcomer(method);
        await expectOneUser(one, await atOnce((service) => one.signIn(pageAt(service, one.app))));
      });
    }

    it(`lets one of ${AT_ONCE} in who answer the same challenge`, async () => {
      const app = await nodes.newApp(node);
      const { publicKey, signMessage } = newWallet();
      const challenge = await pageAt(node, app).siws.challenge(publicKey);
      const signed = await signMessage(new TextEncoder().encode(challenge.message));
      const proof = { challenge, publicKey, signature: Buffer.from(signed).toString('base64') };
      const outcomes = await atOnce((service) => {
        const verified = pageAt(service, app).siws.verify(proof);
        return verified.then(
          () => 'signed in',
          () => codeOf(verified),
        );
      });
      expect(outcomes.toSorted()).to.deep.equal([
        ...Array(AT_ONCE - 1).fill('auth/challenge_invalid'),
        'signed in',
      ]);
      expect(typesOf(await nodes.events(node, app))).to.deep.equal(FIRST_SIGN_IN);
    });
  });
});
