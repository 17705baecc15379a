import { type ContextWorld, requireStatus, setUpApp, startContexts } from '@coffer/host/testing';
import { memoryChain } from '@coffer/solana/testing';
import { expect } from 'chai';
import { WALLET_CONTEXTS, walletsGiven } from './testing/index.ts';

/** More than a JSON number could hold. */
const LAMPORTS = 2n ** 60n;

describe('the wallets of an app, as an operator sees them', () => {
  let world: ContextWorld;
  const chain = memoryChain();

  before(async () => {
    const { chains, ...given } = walletsGiven();
    const find = (environment: string) => (environment === 'test' ? chain : undefined);
    world = await startContexts({
      contexts: WALLET_CONTEXTS,
      given: { ...given, chains: { ...chains, find } },
      roles: ['api'],
    });
  });
  after(() => world.stop());

  const walletsOf = async (appId: string, environment: 'test' | 'live') => {
    const answer = await world.client.get(`/portal/app/${appId}/${environment}/wallets`);
    return requireStatus(answer, 200).json.items as readonly Readonly<Record<string, string | null>>[];
  };

  it('are made once, and hold what the chain says, to the last lamport', async () => {
    const { appId } = await setUpApp(world.client);
    const made = await walletsOf(appId, 'test');
    expect(made.map(({ role, lamports }) => [role, lamports])).to.deep.equal([
      ['treasury', '0'],
      ['feePayer', '0'],
    ]);
    chain.fund(String(made[0]?.address), LAMPORTS);
    const [treasury, feePayer] = await walletsOf(appId, 'test');
    expect(treasury).to.deep.equal({ ...made[0], lamports: LAMPORTS.toString() });
    expect(feePayer).to.deep.equal(made[1]);
  });

  it('hold nothing that anybody could tell where no chain is configured', async () => {
    const { appId } = await setUpApp(world.client);
    expect((await walletsOf(appId, 'live')).map(({ lamports }) => lamports)).to.deep.equal([null, null]);
  });
});
