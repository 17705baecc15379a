/** A wrong yes is a payment made twice: each row is one way to be wrong. */
import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import { type Chain, ChainUnreachableError } from '../port.ts';
import { type Manner, type ScriptedNode, scriptedNode } from '../testing/scriptedNode.ts';
import { createRpcChain } from './rpcChain.ts';

const SIGNATURE = encodeBase58(Buffer.alloc(64, 1));
const LAST_VALID = 1_000n;
const LANDED = { slot: 1_400, confirmations: null, err: null, confirmationStatus: 'finalized' };

/** A node that can say for sure that the transaction is lost, except for the fields changed. */
interface Node {
  readonly manner?: Manner;
  /** Height of the finalized block. */
  readonly height?: number | null;
  readonly slot?: number;
  /** Slot of the search. */
  readonly searchedSlot?: number;
  readonly status?: object | null;
  /** Instead of the one that was asked for. */
  readonly statuses?: readonly unknown[];
  readonly firstSlot?: number;
  readonly firstHeight?: number;
  /** Methods that it refuses. */
  readonly refuses?: readonly string[];
}

interface Row {
  readonly title: string;
  readonly nodes: readonly Node[];
  readonly isLost: boolean | 'unknown';
}

const rows: readonly Row[] = [
  { title: 'is lost if every node says so', nodes: [{}, {}], isLost: true },
  { title: 'is not lost at its last valid height', nodes: [{ height: 1_000 }], isLost: false },
  { title: 'is not lost if a node has it', nodes: [{ status: LANDED }], isLost: false },
  {
    title: 'is not lost if it failed on the chain: it landed',
    nodes: [{ status: { ...LANDED, err: { InstructionError: [0, 'InvalidArgument'] } } }],
    isLost: false,
  },
  { title: 'is not lost if the second node has it', nodes: [{}, { status: LANDED }], isLost: false },
  {
    title: 'is not lost if one node has it, however little the others know',
    nodes: [{}, { manner: 503 }, { status: { ...LANDED, confirmationStatus: 'processed' }, height: 900 }],
    isLost: false,
  },
  { title: 'is not lost while a node lags', nodes: [{}, { height: 999 }], isLost: false },
  {
    title: 'is not lost according to a search older than the height',
    nodes: [{ slot: 1_500, searchedSlot: 1_499 }],
    isLost: false,
  },
  {
    title: 'is not lost if the history begins too late',
    nodes: [{ firstSlot: 1_350, firstHeight: 850 }],
    isLost: false,
  },
  {
    title: 'is lost if the history begins just early enough',
    nodes: [{ firstSlot: 1_349, firstHeight: 849 }],
    isLost: true,
  },
  {
    title: 'is not lost if the second node has discarded its history',
    nodes: [{}, { firstSlot: 1_350, firstHeight: 850 }],
    isLost: false,
  },
  { title: 'is unknown while a node is silent', nodes: [{}, { manner: 503 }], isLost: 'unknown' },
  { title: 'is unknown while every node is silent', nodes: [{ manner: 'breaksOff' }], isLost: 'unknown' },
  { title: 'is unknown without a height', nodes: [{ height: null }], isLost: 'unknown' },
  ...[[], [null, null], ['finalized'], [false]].map(
    (statuses): Row => ({
      title: `is unknown while a node's statuses are ${JSON.stringify(statuses)}`,
      nodes: [{}, { statuses }],
      isLost: 'unknown',
    }),
  ),
  ...['getEpochInfo', 'getSignatureStatuses', 'getFirstAvailableBlock'].map(
    (method): Row => ({
      title: `is unknown while a node refuses ${method}`,
      nodes: [{}, { refuses: [method] }],
      isLost: 'unknown',
    }),
  ),
  {
    title: 'is unknown if a node does not say what it has discarded',
    nodes: [{ firstSlot: 1_349, refuses: ['getBlock'] }],
    isLost: 'unknown',
  },
];

describe('A transaction', () => {
  const nodes: ScriptedNode[] = [];
  let chain: Chain | undefined;

  afterEach(async () => {
    await chain?.close();
    await Promise.all(nodes.splice(0).map((node) => node.close()));
  });

  async function start(of: Node): Promise<ScriptedNode> {
    const node = await scriptedNode();
    nodes.push(node);
    const { height = 1_001, slot = 1_501, searchedSlot = 1_533, status = null, firstSlot = 0 } = of;
    const answers: Record<string, unknown> = {
      getEpochInfo: {
        epoch: 1,
        slotIndex: 1,
        slotsInEpoch: 10,
        absoluteSlot: slot,
        ...(height !== null && { blockHeight: height }),
      },
      getSignatureStatuses: { context: { slot: searchedSlot }, value: of.statuses ?? [status] },
      getFirstAvailableBlock: firstSlot,
      getBlock: { blockHeight: of.firstHeight ?? 0, blockhash: 'x', parentSlot: 0 },
    };
    for (const [method, answer] of Object.entries(answers))
      node.on(
        method,
        of.refuses?.includes(method) ? { code: -32601, message: 'no' } : JSON.stringify(answer),
      );
    node.setManner(of.manner ?? 'answers');
    return node;
  }

  for (const { title, nodes: script, isLost } of rows)
    it(title, async () => {
      const started = await Promise.all(script.map(start));
      chain = createRpcChain({ urls: started.map(({ url }) => url), timeoutMs: 5_000 });
      const answer = await chain.isLost(SIGNATURE, LAST_VALID).catch((error: unknown) => error);
      if (isLost === 'unknown') expect(answer).to.be.instanceOf(ChainUnreachableError);
      else expect(answer).to.equal(isLost);
    });

  it('is searched for in the whole history, and only once the height is known', async () => {
    const node = await start({ firstSlot: 1_349, firstHeight: 849 });
    chain = createRpcChain({ urls: [node.url], timeoutMs: 5_000 });
    expect(await chain.isLost(SIGNATURE, LAST_VALID)).to.equal(true);
    expect(node.methods()).to.deep.equal([
      'getEpochInfo',
      'getEpochInfo',
      'getSignatureStatuses',
      'getFirstAvailableBlock',
      'getBlock',
    ]);
    expect(node.calls.map(({ params }) => params)).to.deep.include.members([
      [{ commitment: 'finalized' }],
      [[SIGNATURE], { searchTransactionHistory: true }],
    ]);
    expect(await chain.isLost(SIGNATURE, 1_001n)).to.equal(false);
    expect(node.methods()).to.have.length(6);
  });
});
