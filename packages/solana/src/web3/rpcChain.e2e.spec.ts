/** The adapter on a real node with a faucet, if one is configured. */
import { itIsAChain } from '../chain.contract.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import { rpcWorld } from '../testing/rpcWorld.ts';

const { SOLANA_RPC_TEST_URL: url } = process.env;

if (url)
  for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
    itIsAChain(`The RPC chain with a token of ${program.slice(0, 6)}`, () => rpcWorld(url, program));
else
  describe('The RPC chain on a real node', () => {
    it('is not run: SOLANA_RPC_TEST_URL names no node with a faucet');
  });
