/** A world with one app that has pool escrow, and helpers that express the rules of pools. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { contexts } from '@coffer/host';
import {
  type Answer,
  type AppPlace,
  type ContextWorld,
  type ContextWorldOptions,
  type Fields,
  requireStatus,
  setUpApp,
  startContexts,
  type TestApp,
  verdict,
} from '@coffer/host/testing';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { usersContext } from '@coffer/users';
import { expect } from 'chai';
import { custodyContext } from '../context.ts';

const CUSTODY_CONTEXTS = contexts<PortalGiven>()
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(custodyContext);

export const CHIP = 2;

export interface Custody {
  readonly world: ContextWorld<PortalGiven>;
  readonly app: TestApp;
  readonly test: AppPlace;
  /** The calls of the group, in CHIP unless the fields say otherwise. */
  readonly lock: (fields: Fields) => Promise<Answer>;
  readonly confirm: (fields: Fields) => Promise<Answer>;
  readonly settle: (fields: Fields) => Promise<Answer>;
  readonly refund: (fields: Fields) => Promise<Answer>;
  /** A new player's stake, locked and confirmed; the whole of the player's funds. */
  readonly stake: (poolId: string, betId: string, amount: string) => Promise<string>;
  /** A new player's stake, locked only. */
  readonly orphan: (poolId: string, betId: string, amount: string) => Promise<string>;
  readonly set: (settings: Fields) => Promise<void>;
  /** What the log has gained since the last call, as "category EventType". */
  readonly news: () => Promise<readonly string[]>;
  /** The refusal of a call, as "409 custody/pool_closed", which must have written nothing. */
  readonly refused: (call: () => Promise<Answer>, refusal: string, details?: Fields) => Promise<void>;
  /** Expects the call to repeat its first answer byte for byte, to say so, and to write nothing. */
  readonly replays: (first: Answer, call: () => Promise<Answer>) => Promise<void>;
}

/** From before the specs of the calling describe block until after them. */
export function useCustody(options: Partial<ContextWorldOptions<PortalGiven>> = {}): Custody {
  let started: { readonly world: ContextWorld<PortalGiven>; readonly app: TestApp } | undefined;
  let position: unknown;

  before(async () => {
    const world = await startContexts({ contexts: CUSTODY_CONTEXTS, given: PORTAL_GIVEN, ...options });
    started = { world, app: await setUpApp(world.client) };
    await set({ poolEscrowEnabled: true });
  });
  after(async () => {
    await started?.world.stop();
  });

  const now = () => {
    if (!started) throw new Error('The world has not been started.');
    return started;
  };
  const post = (path: string) => (fields: Fields) => now().app.test.post(`/custody/${path}`, fields);
  const set = async (settings: Fields) => {
    const { world, app } = now();
    requireStatus(await world.client.post(`/portal/app/${app.appId}/settings`, { settings }), 200);
  };
  const lock = (fields: Fields) => post('lock')({ currency: CHIP, ...fields });
  const confirm = post('confirm');
  const news: Custody['news'] = async () => {
    const after = position === undefined ? '' : `?after=${position}`;
    const events = await now().world.client.lines(`/portal/log${after}`);
    position = events.at(-1)?.position ?? position;
    return events.map(({ stream, type }) => `${String(stream).split('-', 1)[0]} ${type}`);
  };
  const orphan: Custody['orphan'] = async (poolId, betId, amount) => {
    const userId = await now().app.test.newPlayer(amount);
    requireStatus(await lock({ poolId, betId, userId, amount }), 201);
    return userId;
  };

  return {
    get world() {
      return now().world;
    },
    get app() {
      return now().app;
    },
    get test() {
      return now().app.test;
    },
    lock,
    confirm,
    settle: (fields) => post('settle')({ currency: CHIP, rake: '0', payouts: [], ...fields }),
    refund: post('refund'),
    orphan,
    async stake(poolId, betId, amount) {
      const userId = await orphan(poolId, betId, amount);
      requireStatus(await confirm({ poolId, betId }), 200);
      return userId;
    },
    set,
    news,
    async refused(call, refusal, details) {
      await news();
      const answer = await call();
      expect(verdict(answer), answer.text).to.equal(refusal);
      expect(answer.replayed, 'a refusal is not a replay').to.equal(false);
      if (details) expect(answer.json.details).to.deep.equal(details);
      expect(await news(), 'a refusal writes nothing').to.deep.equal([]);
    },
    async replays(first, call) {
      await news();
      const again = await call();
      expect({ status: again.status, text: again.text }).to.deep.equal({
        status: first.status,
        text: first.text,
      });
      expect(again.replayed, 'a repeat says that it is one').to.equal(true);
      expect(await news(), 'a repeat writes nothing').to.deep.equal([]);
    },
  };
}
