/** An app with referrals over HTTP, for the specs in this folder. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { authContext } from '@coffer/auth';
import { type AuthGiven, startAuthWorld } from '@coffer/auth/testing';
import { contexts } from '@coffer/host';
import { type ContextWorld, type Fields, requireStatus, setUpApp, type TestApp } from '@coffer/host/testing';
import { chainContext, movesContext } from '@coffer/moves';
import { portalContext } from '@coffer/portal';
import { usersContext } from '@coffer/users';
import { walletsContext } from '@coffer/wallets';
import { referralsContext } from '../context.ts';

/** With sign-in, whose context erases users. */
const CONTEXTS = contexts<AuthGiven>()
  .with(chainContext)
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(referralsContext)
  .with(movesContext)
  .with(walletsContext)
  .with(authContext);

export const CHIP = 2;

/** Called in a `describe`. */
export function useReferrals() {
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  before(async () => {
    world = await startAuthWorld({ contexts: CONTEXTS });
    app = await setUpApp(world.client);
  });
  after(() => world.stop());

  const call = (path: string, fields: Fields) => app.test.post(`/referrals/${path}`, fields);
  const newUser = () => app.test.newPlayer('1');
  const codeOf = async (userId: string) =>
    String(requireStatus(await call('code', { userId }), 200).json.code);
  const command = async (userId: string, name: 'erase' | 'suspend') => {
    const path = `/portal/app/${app.appId}/test/users/${userId}/${name}`;
    requireStatus(await world.client.post(path, {}), 200);
  };
  let keys = 0;
  return {
    get world() {
      return world;
    },
    get app() {
      return app;
    },
    call,
    newUser,
    newKey: () => `key-${++keys}`,
    codeOf,
    erase: (userId: string) => command(userId, 'erase'),
    suspend: (userId: string) => command(userId, 'suspend'),
    /** The first was brought by the second, who was brought by the third, and so on. */
    async chain(...users: readonly string[]): Promise<void> {
      for (const [index, userId] of users.slice(0, -1).entries()) {
        const code = await codeOf(users[index + 1] ?? '');
        requireStatus(await call('attribute', { userId, code }), 200);
      }
    },
  };
}
