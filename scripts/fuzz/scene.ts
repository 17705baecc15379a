/**
 * One app with funded, signed-in players, restored from time to time because random requests break things.
 */

import { allowSignIn, launchDataOf, newWallet } from '@coffer/auth/testing';
import { type Client, placeOf, requireStatus, textOf } from '@coffer/host/testing';
import { embeddedChainClient } from '../bench/embeddedChain.ts';
import type { ServiceUnderTest } from '../bench/service.ts';
import type { Known } from './known.ts';
import type { Values } from './values.ts';

const PLAYERS = 3;
const LAMPORTS = 2_000_000_000;
const FUNDS = '1000000000';
const LITTLE = '1500000';

interface Keys {
  readonly secretKey: string;
  readonly publishableKey: string;
}

type Wallet = ReturnType<typeof newWallet>;

export interface Scene {
  readonly appId: string;
  readonly operatorToken: string;
  readonly keys: { readonly test: Keys; readonly live: Keys };
  /** Which no request may revoke. */
  readonly kept: ReadonlySet<string>;
  /** Those that can sign in, by public key. */
  readonly wallets: ReadonlyMap<string, Wallet>;
  /** Restores everything, with new players. */
  readonly restore: (known: Known) => Promise<void>;
}

export async function setScene(
  client: Client,
  { boot, chainUrl }: ServiceUnderTest,
  signal: AbortSignal,
): Promise<Scene> {
  const { appId } = boot;
  const chain = embeddedChainClient(chainUrl, signal);
  const places = { test: await placeOf(client, appId, 'test'), live: await placeOf(client, appId, 'live') };
  const { json } = requireStatus(await client.get(`/portal/app/${appId}/keys`), 200);
  const items: unknown = json.items;
  const keyIds = Array.isArray(items) ? items.map(({ keyId }) => String(keyId)) : [];
  if (keyIds.length === 0) throw new Error('The app has no keys.');
  const wallets = new Map<string, Wallet>();
  let players = 0;

  return {
    appId,
    operatorToken: boot.portalToken,
    keys: places,
    kept: new Set(keyIds),
    wallets,
    async restore(known) {
      await allowSignIn(client, appId);
      for (let count = 0; count < PLAYERS; count++) await newPlayer(known);
    },
  };

  async function newPlayer(known: Known): Promise<void> {
    players += 1;
    const wallet = newWallet();
    wallets.set(wallet.publicKey, wallet);
    known.remember('publicKey', wallet.publicKey);
    const user = { id: players, username: `player${players}` };
    known.addLead('postAuthMessengerVerify', {
      values: { initData: launchDataOf(user) },
      credential: undefined,
    });

    const session = await signIn(wallet);
    known.learn(session);
    const { user: player, accessToken } = Object(session);
    const [{ id: walletId, address }] = player.wallets;
    const userId: string = player.id;
    known.remember('userId', userId);
    known.remember('accessToken', accessToken);
    // No link says who has funds for what.
    const credential = { scheme: 'accessToken', token: accessToken };
    const lead = (operation: string, values: Values) => known.addLead(operation, { values, credential });
    lead('postLedgerSessions', { userId, currency: 'CHIP' });
    lead('postTreasuryDeposit', { userId, currency: 1, amount: LITTLE });
    lead('postTreasuryWithdraw', { userId, currency: 1, amount: LITTLE });
    lead('getWalletsWalletIdBalance', { walletId });
    lead('postWalletsWalletIdWithdraw', { walletId, currency: 1, amount: LITTLE });
    await places.test.credit(userId, FUNDS);
    await places.test.credit(userId, FUNDS, undefined, 'SOL');
    await chain.call('requestAirdrop', [address, LAMPORTS]);
  }

  async function signIn(wallet: Wallet): Promise<unknown> {
    const { publicKey } = wallet;
    const { post, publishableKey: key } = places.test;
    const challenge = requireStatus(await post('/auth/siws/challenge', { publicKey }, { key }), 200);
    const signature = await wallet.signMessage(Buffer.from(textOf(challenge, 'message')));
    const answer = await post(
      '/auth/siws/verify',
      { challenge: challenge.json, publicKey, signature: Buffer.from(signature).toString('base64') },
      { key },
    );
    return requireStatus(answer, 200).json;
  }
}
