/** A world with one app, and helpers that express the rules of the ledger. */
import {
  type Answer,
  type AppPlace,
  type Client,
  type ContextNode,
  type ContextWorld,
  type ContextWorldOptions,
  setUpApp,
  startContexts,
  type TestApp,
  verdict,
} from '@coffer/host/testing';
import type { PortalGiven } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { expect } from 'chai';
import { LEDGER_CONTEXTS } from './ledgerContexts.ts';

export interface PlayedSession {
  readonly userId: string;
  readonly sessionId: string;
}

export interface Ledger<World = ContextWorld<PortalGiven>> {
  readonly world: World;
  /** The operator's client. */
  readonly client: Client;
  readonly app: TestApp;
  readonly test: AppPlace;
  readonly live: AppPlace;
  /** What the log has gained since the last call, as "category EventType". */
  readonly news: () => Promise<readonly string[]>;
  /** Everything that the API shows of a session in `test` and of its player's funds. */
  readonly view: (session: PlayedSession) => Promise<unknown>;
  /**
   * The refusal of a call, as "409 ledger/session_settled", which must have written nothing and must leave
   * the session and its player's funds as they were.
   */
  readonly refused: (
    session: PlayedSession,
    call: () => Promise<Answer>,
    refusal: string,
    details?: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
  /** Expects the call to repeat its first answer byte for byte, to say so, and to write nothing. */
  readonly replays: (first: Answer, call: () => Promise<Answer>) => Promise<void>;
}

/** The ledger and what it is built on, from before the specs of the calling describe block until after them. */
export const useLedger = (options: Partial<ContextWorldOptions<PortalGiven>> = {}): Ledger =>
  useLedgerIn(() => startContexts({ contexts: LEDGER_CONTEXTS, given: PORTAL_GIVEN, ...options }));

/** The same in another world that has a ledger. */
export function useLedgerIn<World extends Pick<ContextNode, 'client' | 'stop'>>(
  start: () => Promise<World>,
): Ledger<World> {
  let started: { readonly world: World; readonly app: TestApp } | undefined;
  let position: unknown;

  before(async () => {
    const world = await start();
    started = { world, app: await setUpApp(world.client) };
  });
  after(async () => {
    await started?.world.stop();
  });

  const now = () => {
    if (!started) throw new Error('The world has not been started.');
    return started;
  };
  const news: Ledger<World>['news'] = async () => {
    const after = position === undefined ? '' : `?after=${position}`;
    const events = await now().world.client.lines(`/portal/log${after}`);
    position = events.at(-1)?.position ?? position;
    return events.map(({ stream, type }) => `${String(stream).split('-', 1)[0]} ${type}`);
  };
  const view: Ledger<World>['view'] = async ({ sessionId, userId }) => {
    const { test } = now().app;
    const answers = await Promise.all([
      test.balance(sessionId),
      test.get(`/ledger/sessions/${sessionId}`),
      test.get(`/ledger/sessions/${sessionId}/transactions?limit=200`),
      test.get(`/users/${userId}/accounts`),
    ]);
    return answers.map((answer) => answer.json);
  };

  return {
    get world() {
      return now().world;
    },
    get client() {
      return now().world.client;
    },
    get app() {
      return now().app;
    },
    get test() {
      return now().app.test;
    },
    get live() {
      return now().app.live;
    },
    news,
    view,
    refused: async (session, call, refusal, details) => {
      const viewBefore = await view(session);
      await news();
      const answer = await call();
      expect(verdict(answer), answer.text).to.equal(refusal);
      expect(answer.replayed, 'a refusal is not a replay').to.equal(false);
      if (details) expect(answer.json.details).to.deep.equal(details);
      expect(await news(), 'a refusal writes nothing').to.deep.equal([]);
      expect(await view(session), 'a refusal changes nothing').to.deep.equal(viewBefore);
    },
    replays: async (first, call) => {
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
