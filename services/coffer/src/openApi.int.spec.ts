/** The OpenAPI document of the composed service, as third-party tools read it. */

import { allowSignIn, newWallet } from '@coffer/auth/testing';
import { requireStatus, setUpApp, type TestApp, textOf } from '@coffer/host/testing';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect } from 'chai';
import { verdict } from './testing/ledger.ts';
import {
  askByExample,
  type LinkedOperation,
  linkedOperations,
  linkedValues,
  type Step,
} from './testing/linkWalk.ts';
import { openApiDocuments } from './testing/openApiDocuments.ts';
import { startWorld, type World } from './testing/world.ts';

describe('The OpenAPI document', () => {
  let world: World;
  let app: TestApp;
  let accessToken: string;
  let documents: Awaited<ReturnType<typeof openApiDocuments>>;
  let operations: ReadonlyMap<string, LinkedOperation>;

  before(async () => {
    world = await startWorld();
    app = await setUpApp(world.client);
    documents = await openApiDocuments(world.client);
    operations = new Map(documents.flatMap((document) => [...linkedOperations(document)]));
    await allowSignIn(world.client, app.appId);
    accessToken = textOf((await signIn()).verified.answer, 'accessToken');
  });
  after(() => world.stop());

  const operationOf = (id: string): LinkedOperation => {
    const operation = operations.get(id);
    if (!operation) throw new Error(`There is no ${id}.`);
    return operation;
  };
  const keyOf = ({ credential }: LinkedOperation): string | null => {
    const { secretKey, publishableKey } = app.test;
    const keys: Readonly<Record<string, string>> = {
      secretKey,
      publishableKey,
      operatorToken: world.operatorToken,
      accessToken,
    };
    return keys[credential ?? ''] ?? null;
  };
  const ask = (id: string, given: Readonly<Record<string, unknown>> = {}) =>
    askByExample(world.client, operationOf(id), keyOf(operationOf(id)), given);
  const follow = (step: Step, id: string, given: Readonly<Record<string, unknown>> = {}) =>
    ask(id, { ...linkedValues(step, id), ...given });

  async function signIn() {
    const wallet = newWallet();
    const challenge = await ask('postAuthSiwsChallenge', { publicKey: wallet.publicKey });
    const signature = await wallet.signMessage(Buffer.from(textOf(challenge.answer, 'message')));
    const verified = await follow(challenge, 'postAuthSiwsVerify', {
      signature: Buffer.from(signature).toString('base64'),
    });
    return { challenge, verified };
  }

  it('has nothing that a public linter would say', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    for (const document of documents) {
      const problems = await lintFromString({ source: JSON.stringify(document), config });
      expect(
        problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
      ).to.deep.equal([]);
    }
  });

  it('names the server where it is', async () => {
    const { json } = await world.client.get('/openapi.json', {
      key: null,
      headers: { host: 'evil.example' },
    });
    expect(json.servers).to.deep.equal([{ url: world.client.baseUrl }]);
  });

  it('gives every request an example of the documented shape', async () => {
    const refused: string[] = [];
    for (const [id, operation] of operations) {
      const { answer } = await ask(id, operation.path.includes('{appId}') ? { appId: app.appId } : {});
      if (/^400 request|^415/.test(verdict(answer))) refused.push(`${id}: ${answer.text}`);
    }
    expect(refused).to.deep.equal([]);
  });

  it('leads through play by its links', async () => {
    const userId = await app.test.newPlayer('1000000');
    const opened = await ask('postLedgerSessions', { userId, transactionUuid: 'open-1' });
    const bet = await follow(opened, 'postLedgerBet', { transactionUuid: 'bet-1' });
    const win = await follow(bet, 'postLedgerWin', { transactionUuid: 'win-1' });
    const settled = await follow(win, 'postLedgerSettle', { transactionUuid: 'settle-1' });
    const history = await follow(settled, 'getLedgerSessionsSessionIdTransactions');
    const steps = [opened, bet, win, settled, history];
    expect(steps.map(({ answer }) => answer.status)).to.deep.equal([201, 200, 200, 200, 200]);
    expect(history.answer.json.items).to.have.length(2);
  });

  it('leads from a challenge to a session, and on', async () => {
    const { challenge, verified } = await signIn();
    const refreshed = await follow(verified, 'postAuthRefresh');
    const checked = await follow(refreshed, 'postSessionsVerify');
    const accounts = await follow(checked, 'getUsersUserIdAccounts');
    for (const { answer } of [challenge, verified, refreshed, checked, accounts]) requireStatus(answer, 200);
  });

  it('links only to what is there, with values that it takes', () => {
    const linked = documents.flatMap((document) => {
      const here = linkedOperations(document);
      return [...here].map(([id, { links }]) => ({ id, links, here }));
    });
    for (const { id, links, here } of linked) {
      for (const [to, { parameters = {}, requestBody = {} }] of Object.entries(links)) {
        const target = here.get(to) ?? expect.fail(`${id} leads to ${to}, which is not there`);
        const names = target.parameters.map(({ name }) => name);
        for (const name of Object.keys(parameters)) expect(names, `${id} to ${to}`).to.include(name);
        for (const name of Object.keys(requestBody))
          expect(target.body, `${id} to ${to}`).to.have.property(name);
      }
    }
  });
});
