/** An app with referrals over HTTP, for the specs in this folder. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { contexts } from '@coffer/host';
import {
  type ContextWorld,
  type Fields,
  requireStatus,
  setUpApp,
  startContexts,
  type TestApp,
} from '@coffer/host/testing';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { usersContext } from '@coffer/users';
import { referralsContext } from '../context.ts';

const CONTEXTS = contexts<PortalGiven>()
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(referralsContext);

export const CHIP = 2;

/** Called in a `describe`. */
export function useReferrals() {
  let world: ContextWorld<PortalGiven>;
  let app: TestApp;
  before(async () => {
    world = await startContexts({ contexts: CONTEXTS, given: PORTAL_GIVEN });
    app = await setUpApp(world.client);
  });
  after(() => world.stop());

  const call = (path: string, fields: Fields) => app.test.post(`/referrals/${path}`, fields);
  const newUser = () => app.test.newPlayer('1');
  const codeOf = async (userId: string) => requireStatus(await call('code', { userId }), 200).json.code;
  return {
    get world() {
      return world;
    },
    get app() {
      return app;
    },
    call,
    newUser,
    codeOf,
    /** The first was brought by the second, who was brought by the third, and so on. */
    async chain(...users: readonly string[]): Promise<void> {
      for (const [index, userId] of users.slice(0, -1).entries()) {
        const code = await codeOf(users[index + 1] ?? '');
        requireStatus(await call('attribute', { userId, code }), 200);
      }
    },
  };
}
