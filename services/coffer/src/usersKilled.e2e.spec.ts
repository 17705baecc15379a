/**
 * A service that dies in the middle of an operator's action on a user. Source: architecture, Processes; contract,
 * The command line.
 */

import { requireStatus, type TestApp } from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { createBackendClient, type PlayerClient, type Session } from '@coffer/sdk';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import {
  clientOf,
  codeOf,
  newcomers,
  pageAt,
  type SignInAs,
  typesOf,
  useMortalNodes,
} from './testing/mortalNodes.ts';
import { OPERATOR_TOKEN, type ServiceProcess } from './testing/serviceProcess.ts';

const FIRST_SIGN_IN = ['IdentityClaimed', 'UserRegistered', 'IdentityLinked', 'WalletProvisioned'];
const ERASURE = ['UserErased', 'IdentityReleased'];

interface Death {
  readonly at: FailPointName;
  /** How many of an erasure's events are then in the log. */
  readonly written: number;
  /** What then remains of the person: the key that opens the data, and the data. */
  readonly isForgotten: boolean;
}

const DEATHS: readonly Death[] = [
  { at: 'erase.erased', written: 1, isForgotten: false },
  { at: 'erase.destroyed', written: 1, isForgotten: true },
  { at: 'erase.released', written: 2, isForgotten: true },
];

/** Somebody who has signed in. */
interface Player {
  readonly app: TestApp;
  readonly signIn: SignInAs;
  readonly page: PlayerClient;
  readonly session: Session;
}

describe('a service that dies', () => {
  const nodes = useMortalNodes();
  let node: ServiceProcess;

  before(async () => {
    node = await nodes.start(['api']);
  });

  const newPlayer = async (): Promise<Player> => {
    const app = await nodes.newApp(node);
    const signIn = newcomers.messenger();
    const page = pageAt(node, app);
    return { app, signIn, page, session: await signIn(page) };
  };
  const signInAgain = ({ app, signIn }: Player) => signIn(pageAt(node, app));
  const eventTypes = async ({ app }: Player) => typesOf(await nodes.events(node, app));
  const verify = ({ app }: Player, { accessToken }: Session) =>
    createBackendClient({ baseUrl: `${node.url}/v1`, secretKey: app.test.secretKey }).sessions.verify(
      accessToken,
    );

  describe('in an erasure', () => {
    const erase = (service: ServiceProcess, { app, session }: Player) =>
      nodes.processes.command(
        ['users', 'erase', '--app', app.appId, '--env', 'test', '--user', session.user.id],
        { COFFER_URL: service.url, COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN },
      );
    const keptOf = async ({ session }: Player) => {
      const { rows } = await nodes.pool().query(
        `select sealed_key is null as is_destroyed,
                (select count(*)::int from records.auth_identities i where i.user_id = k.user_id) as known
           from records.auth_data_keys k where user_id = $1`,
        [session.user.id],
      );
      return rows;
    };
    const FORGOTTEN = [{ is_destroyed: true, known: 0 }];

    const dieErasing = async ({ at, written, isForgotten }: Death): Promise<Player> => {
      const player = await newPlayer();
      const doomed = await nodes.start(['api'], at);
      expect(await erase(doomed, player)).to.include({ exitCode: 3, stdout: '' });
      expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
      expect(await eventTypes(player)).to.deep.equal([...FIRST_SIGN_IN, ...ERASURE.slice(0, written)]);
      expect(await keptOf(player)).to.deep.equal(
        isForgotten ? FORGOTTEN : [{ is_destroyed: false, known: 1 }],
      );
      return player;
    };

    /** Done once, completely; the earlier session is worthless, and the same person is a new user. */
    async function expectErased(player: Player): Promise<void> {
      const { session, page } = player;
      expect(await keptOf(player)).to.deep.equal(FORGOTTEN);
      expect(await codeOf(verify(player, session))).to.equal('auth/invalid_session');
      expect(await codeOf(page.refresh())).to.equal('auth/invalid_refresh_token');
      const next = await signInAgain(player);
      expect(next.user.id).not.to.equal(session.user.id);
      expect(next.user.wallets[0]?.address).not.to.equal(session.user.wallets[0]?.address);
      expect((await verify(player, next)).userId).to.equal(next.user.id);
      expect(await eventTypes(player)).to.deep.equal([...FIRST_SIGN_IN, ...ERASURE, ...FIRST_SIGN_IN]);
      expect(await keptOf(player)).to.deep.equal(FORGOTTEN);
    }

    describe('which the operator repeats', () => {
      for (const death of DEATHS) {
        it(`at ${death.at}: it is finished`, async () => {
          const player = await dieErasing(death);
          expect(await erase(node, player)).to.include({ exitCode: 0, stderr: '' });
          expect(await eventTypes(player)).to.deep.equal([...FIRST_SIGN_IN, ...ERASURE]);
          await expectErased(player);
        });
      }
    });

    describe('after which the person signs in again', () => {
      for (const death of DEATHS) {
        it(`at ${death.at}: it is finished before there is a new user`, async () => {
          const player = await dieErasing(death);
          expect((await signInAgain(player)).user.id).not.to.equal(player.session.user.id);
          await expectErased(player);
        });
      }
    });

    describe('which nobody repeats', () => {
      const left = new Map<Death, Player>();
      let finisher: ServiceProcess;
      before(async () => {
        for (const death of DEATHS) left.set(death, await dieErasing(death));
        finisher = await nodes.start(['process-manager']);
      });
      after(() => finisher.terminate());

      for (const death of DEATHS) {
        it(`at ${death.at}: the process finishes it`, async () => {
          const player = left.get(death) ?? expect.fail();
          await eventually('the identity is released', async () => {
            const { length } = await eventTypes(player);
            return length >= FIRST_SIGN_IN.length + ERASURE.length || undefined;
          });
          await expectErased(player);
        });
      }
    });
  });

  describe('in a suspension, before it has ended a session', () => {
    let player: Player;
    const act = (service: ServiceProcess, verb: 'suspend' | 'reinstate') =>
      clientOf(service).post(
        `/portal/app/${player.app.appId}/test/users/${player.session.user.id}/${verb}`,
        {},
      );

    /** Of the service that stands before the sessions. */
    const waitingForTheRow = async () => {
      const { rows } = await nodes.pool().query<{ pid: number }>(
        `select pid from pg_stat_activity
          where datname = current_database() and application_name = 'coffer' and wait_event_type = 'Lock'`,
      );
      return rows[0]?.pid;
    };

    before(async () => {
      player = await newPlayer();
      const doomed = await nodes.start(['api']);
      const client = await nodes.pool().connect();
      try {
        await client.query('begin');
        await client.query('select 1 from records.auth_sessions where user_id = $1 for update', [
          player.session.user.id,
        ]);
        const suspending = act(doomed, 'suspend').catch((error: unknown) => error);
        const pid = await eventually('it waits for the sessions', waitingForTheRow);
        await doomed.kill9();
        expect(await suspending).to.be.instanceOf(TypeError);
        // Otherwise the database is still executing what the dead one requested.
        const terminated = await nodes
          .pool()
          .query('select pg_terminate_backend($1, 10000) as is_gone', [pid]);
        expect(terminated.rows).to.deep.equal([{ is_gone: true }]);
      } finally {
        await client.query('rollback');
        client.release();
      }
    });

    it('has suspended the user, and left the session open', async () => {
      expect(await eventTypes(player)).to.deep.equal([...FIRST_SIGN_IN, 'UserSuspended']);
      const { rows } = await nodes
        .pool()
        .query('select ended_at from records.auth_sessions where user_id = $1', [player.session.user.id]);
      expect(rows).to.deep.equal([{ ended_at: null }]);
    });

    it('has suspended the session with the user all the same', async () => {
      expect(await codeOf(verify(player, player.session))).to.equal('auth/invalid_session');
      expect(await codeOf(signInAgain(player))).to.equal('auth/user_suspended');
    });

    it('has left no session that comes back with the user', async () => {
      requireStatus(await act(node, 'reinstate'), 200);
      expect(await codeOf(verify(player, player.session))).to.equal('auth/invalid_session');
      expect(await codeOf(player.page.refresh())).to.equal('auth/invalid_refresh_token');
      const again = await signInAgain(player);
      expect(again.user.id).to.equal(player.session.user.id);
      expect((await verify(player, again)).userId).to.equal(again.user.id);
    });
  });
});
