/** One app, and users whose wallets hold SOL and GOLD on the chain. */

import { allowSignIn, launchDataOf } from '@coffer/auth/testing';
import { callRpc } from '@coffer/embedded-chain/testing';
import { type Client, requireStatus, setUpApp, textOf } from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { type FaultyChain, GOLD_DECIMALS } from './faultyChain.ts';
import type { Receiver } from './receiver.ts';

/** What users' wallets start with, in base units. */
const BEGINS_WITH = { sol: 300_000_000n, gold: 100_000_000n };
const FEES_LAMPORTS = 100_000_000_000n;

export interface User {
  readonly userId: string;
  readonly address: string;
}

export interface Currency {
  readonly id: number;
  /** `native` or a mint. */
  readonly mint: string;
  readonly beginsWith: bigint;
  /** Amounts of one transfer; the largest one twice would empty a wallet. */
  readonly amounts: { readonly usual: number; readonly large: number };
}

export interface Scene {
  readonly appId: string;
  readonly secretKey: string;
  readonly users: readonly User[];
  readonly currencies: readonly Currency[];
  readonly feePayer: string;
}

export async function setScene(
  client: Client,
  chain: FaultyChain,
  receiver: Pick<Receiver, 'subscribe'>,
  userCount: number,
): Promise<Scene> {
  const app = await setUpApp(client, { name: 'Faults', chipMint: null });
  await receiver.subscribe(client, app);
  // Its own numbers, for the users and wallets of both.
  await receiver.subscribe(
    client,
    await setUpApp(client, { name: 'Beside', scope: app.scopeId, chipMint: null }),
  );
  const gold = { id: 3, code: 'GOLD', decimals: GOLD_DECIMALS, mint: { test: chain.gold, live: null } };
  requireStatus(await client.post(`/portal/app/${app.appId}/currencies`, gold), 200);
  await allowSignIn(client, app.appId);
  const ofApp = requireStatus(await client.get(`/portal/app/${app.appId}/test/wallets`), 200);
  const feePayer = addressOf(ofApp.json.items, 'feePayer');
  await fund(feePayer, FEES_LAMPORTS);

  const users: User[] = [];
  for (let number = 1; number <= userCount; number += 1) {
    users.push(await signIn(number));
  }
  for (const { address } of users) {
    await fund(address, BEGINS_WITH.sol);
    await callRpc(chain.url, 'requestTokenAirdrop', [address, chain.gold, BEGINS_WITH.gold.toString()]);
  }
  chain.finalize();
  return {
    appId: app.appId,
    secretKey: app.test.secretKey,
    users,
    currencies: [
      {
        id: 1,
        mint: 'native',
        beginsWith: BEGINS_WITH.sol,
        amounts: { usual: 30_000_000, large: 200_000_000 },
      },
      {
        id: gold.id,
        mint: chain.gold,
        beginsWith: BEGINS_WITH.gold,
        amounts: { usual: 5_000_000, large: 70_000_000 },
      },
    ],
    feePayer,
  };

  async function fund(address: string, lamports: bigint): Promise<void> {
    await callRpc(chain.url, 'requestAirdrop', [address, lamports]);
  }

  async function signIn(number: number): Promise<User> {
    const initData = launchDataOf({ id: number, username: `user${number}` });
    const answer = await eventually('the settings of the app are known', async () => {
      const found = await client.post(
        '/auth/messenger/verify',
        { initData },
        { key: app.test.publishableKey },
      );
      return found.status === 200 ? found : undefined;
    });
    const token = textOf(answer, 'accessToken');
    const me = requireStatus(await client.get('/wallets/me', { key: token }), 200);
    return { userId: textOf(me, 'userId'), address: textOf(me, 'address') };
  }
}

function addressOf(items: unknown, role: string): string {
  const found = Array.isArray(items) && items.find((item) => item.role === role);
  if (!found) throw new Error(`The app has no wallet for ${role}.`);
  return found.address;
}
