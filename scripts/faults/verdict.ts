/**
 * What must be true at the end of the log, of the chain, and of what the service says about both. The chain
 * is read independently: everything that our fee payer ever signed, and everything that names a move.
 */
import { account, parseAccountStream } from '@coffer/accounts';
import type { Client } from '@coffer/host/testing';
import { fold, parseStreamName } from '@coffer/kernel';
import { type MoveEvent, moveEvents } from '@coffer/moves';
import { type Chain, createRpcChain, type ExecutedTransaction, referenceOf } from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { eventOf, type LoggedEvent } from '../../services/coffer/src/testing/books.ts';
import type { Asked } from './callers.ts';
import type { Currency, Scene, User } from './scene.ts';

const PAGE = 1_000;

/** One move, as its stream says. */
interface MoveStory {
  readonly requested: Extract<MoveEvent, { type: 'MoveRequested' }>['data'];
  readonly attempts: number;
  readonly expired: number;
  /** In stream order; anything but exactly one is a violation. */
  readonly ends: readonly Extract<MoveEvent, { type: 'MoveConfirmed' | 'MoveFailed' }>[];
}

export interface Verdict {
  readonly moves: readonly MoveStory[];
  readonly transactions: number;
}

export interface VerdictOptions {
  readonly client: Client;
  readonly chainUrl: string;
  readonly scene: Scene;
  readonly asked: readonly Asked[];
  readonly complain: (violation: string) => void;
}

export async function judge(options: VerdictOptions): Promise<Verdict> {
  const { client, chainUrl, complain } = options;
  const events = (await client.lines('/portal/log')).map(eventOf);
  const moves = storiesIn(events);
  const chain = createRpcChain({ urls: [chainUrl], timeoutMs: 10_000 });
  try {
    judgeLog(options, moves);
    const executed = await allSignedBy(chain, options.scene.feePayer);
    await judgeChain(options, chain, moves, executed);
    await judgeStatuses(options, moves);
    await judgeFunds(options, chain, moves);
    judgeHolds(events, complain);
    await judgeBooks(options);
    return { moves, transactions: executed.length };
  } finally {
    await chain.close();
  }
}

function storiesIn(events: readonly LoggedEvent[]): readonly MoveStory[] {
  const ofMoves = events.filter(({ stream }) => parseStreamName(stream)?.category === 'move');
  return [...Map.groupBy(ofMoves, ({ stream }) => stream).values()].map((own) => {
    const decoded = own.map((event) => moveEvents.decode(event));
    const [first] = decoded;
    if (first?.type !== 'MoveRequested') throw new Error(`${own[0]?.stream} begins with ${first?.type}.`);
    return {
      requested: first.data,
      attempts: decoded.filter(({ type }) => type === 'TransactionSigned').length,
      expired: decoded.filter(({ type }) => type === 'TransactionExpired').length,
      ends: decoded.flatMap((event) =>
        event.type === 'MoveConfirmed' || event.type === 'MoveFailed' ? [event] : [],
      ),
    };
  });
}

/** Every accepted ref is a move as requested, and there is no other move but those that are uncertain. */
function judgeLog({ asked, complain }: VerdictOptions, moves: readonly MoveStory[]): void {
  const isPossible = ({ accepted, isUncertain }: Asked) => accepted !== undefined || isUncertain;
  const taken = new Map(asked.filter(isPossible).map((one) => [one.ref, one]));
  for (const { requested, ends } of moves) {
    const { key, operation, userId, currencyId, amount } = requested;
    const one = taken.get(key);
    taken.delete(key);
    const isAsAsked =
      one &&
      operation === (one.kind === 'deposit' ? 'deposit' : 'cashOut') &&
      userId === one.user.userId &&
      currencyId === one.currency.id &&
      amount === one.amount;
    if (!isAsAsked) complain(`the log has a move that nobody requested: ${key}`);
    if (ends.length !== 1) complain(`${key} has ended ${ends.length} times`);
  }
  for (const [ref, { accepted }] of taken) {
    if (accepted !== undefined) complain(`${ref} was accepted, but its move is lost`);
  }
}

async function judgeChain(
  { scene, complain }: VerdictOptions,
  chain: Chain,
  moves: readonly MoveStory[],
  executed: readonly ExecutedTransaction[],
): Promise<void> {
  const succeeded = new Map(
    executed.filter(({ error }) => error === null).map((one) => [one.signature, one] as const),
  );
  for (const { requested, ends } of moves) {
    const { key, moveId } = requested;
    const ofMove = await allNaming(chain, referenceOf(moveId));
    const moved = ofMove.filter(({ error }) => error === null).map(({ signature }) => signature);
    const [end] = ends;
    const expected = end?.type === 'MoveConfirmed' ? [end.data.signature] : [];
    if (moved.join() !== expected.join()) {
      complain(
        `${key} is ${end?.type ?? 'not ended'} by [${expected}], and on the chain succeeded [${moved}]`,
      );
    }
    for (const signature of moved) {
      const transaction = succeeded.get(signature);
      succeeded.delete(signature);
      if (!transaction || !movesExactly(transaction, requested)) {
        complain(`${signature} does not move what ${key} says`);
      }
    }
  }
  for (const signature of succeeded.keys()) complain(`${signature} is on the chain but belongs to no move`);
  for (const one of executed) judgeFeePayer(one, scene.feePayer, complain);
}

function movesExactly(
  { lamports, tokens }: ExecutedTransaction,
  { mint, amount, from, toAddress }: MoveStory['requested'],
): boolean {
  const gained = (wallet: string) =>
    mint === 'native'
      ? sum(lamports.filter(({ address }) => address === wallet))
      : sum(tokens.filter((one) => one.owner === wallet && one.mint === mint));
  return gained(from.address) === -amount && gained(toAddress) === amount;
}

const sum = (changes: readonly { readonly before: bigint; readonly after: bigint }[]): bigint =>
  changes.reduce((total, { before, after }) => total + after - before, 0n);

/** The fee payer pays the fee and the rent of new token accounts, and nothing else. */
function judgeFeePayer(
  { signature, signers, feeLamports, lamports, tokens }: ExecutedTransaction,
  feePayer: string,
  complain: (violation: string) => void,
): void {
  const accounts = new Set(tokens.map(({ account: address }) => address));
  const rent = sum(lamports.filter(({ address, before }) => accounts.has(address) && before === 0n));
  const paid = -sum(lamports.filter(({ address }) => address === feePayer));
  if (signers[0] !== feePayer) complain(`${signature} has another fee payer`);
  if (paid !== feeLamports + rent) complain(`the fee payer has paid ${paid} in ${signature}`);
  if (tokens.some(({ owner }) => owner === feePayer)) complain(`${signature} moves tokens of the fee payer`);
}

/** Each ref has ended as the log says, and as was reported before. */
async function judgeStatuses(
  { client, scene, asked, complain }: VerdictOptions,
  moves: readonly MoveStory[],
): Promise<void> {
  const ends = new Map(moves.map(({ requested, ends: [end] }) => [requested.key, end?.type] as const));
  for (const { ref, ended } of asked) {
    const { status, json } = await client.post('/treasury/status', { ref }, { key: scene.secretKey });
    const found = status === 200 ? json.status : json.code;
    const expected = !ends.has(ref)
      ? 'treasury/move_not_found'
      : ends.get(ref) === 'MoveConfirmed'
        ? 'confirmed'
        : 'failed';
    if (found !== expected) complain(`the status of ${ref} is ${found}, not ${expected}`);
    if (ended !== undefined && ended !== found) complain(`${ref} was ${ended} before it was ${found}`);
  }
}

/** For each user and currency: the account, and the wallet on the chain. */
async function judgeFunds(options: VerdictOptions, chain: Chain, moves: readonly MoveStory[]): Promise<void> {
  const { scene, complain } = options;
  for (const user of scene.users) {
    for (const currency of scene.currencies) {
      const moved = (operation: 'deposit' | 'cashOut') =>
        moves
          .filter(({ requested, ends: [end] }) => {
            const { userId, currencyId } = requested;
            const isOurs = userId === user.userId && currencyId === currency.id;
            return isOurs && requested.operation === operation && end?.type === 'MoveConfirmed';
          })
          .reduce((total, { requested }) => total + requested.amount, 0n);
      const [deposited, withdrawn] = [moved('deposit'), moved('cashOut')];
      const told = await balanceOf(options, user, currency);
      const expected = {
        deposited: `${deposited}`,
        withdrawn: `${withdrawn}`,
        available: `${deposited - withdrawn}`,
        held: '0',
      };
      for (const [field, value] of Object.entries(expected)) {
        if (told[field] !== value) {
          complain(`${field} of ${user.userId} in ${currency.id} is ${told[field]}, not ${value}`);
        }
      }
      const left = currency.beginsWith - deposited + withdrawn;
      const held = await onChain(chain, user.address, currency.mint);
      if (held !== left) {
        complain(`the wallet of ${user.userId} holds ${held} of ${currency.id} on the chain, not ${left}`);
      }
    }
  }
}

/** The treasury holds what it owes, and the books agree with the log. */
async function judgeBooks(options: VerdictOptions): Promise<void> {
  const { client, scene, complain } = options;
  const [user] = scene.users;
  for (const currency of user ? scene.currencies : []) {
    const { treasury } = await balanceOf(options, user, currency);
    const { onChain: holds, liabilities, inFlight, surplus } = Object(treasury);
    if (holds !== liabilities || inFlight !== '0' || surplus !== '0') {
      complain(`the treasury of currency ${currency.id}: ${JSON.stringify(treasury)}`);
    }
  }
  const report = await eventually('the service can be reconciled', async () => {
    const answer = await client.get('/ledger/reconcile', { key: scene.secretKey });
    return answer.status === 503 ? undefined : answer;
  });
  if (report.status !== 200) complain(`GET /ledger/reconcile: ${report.text}`);
}

function judgeHolds(events: readonly LoggedEvent[], complain: (violation: string) => void): void {
  const accounts = Map.groupBy(
    events.filter(({ stream }) => parseAccountStream(stream)),
    ({ stream }) => stream,
  );
  for (const [stream, own] of accounts) {
    const { held } = fold(account, account.initialState, own);
    const countOf = (type: string) => own.filter((event) => event.type === type).length;
    if (held !== 0n || countOf('FundsHeld') !== countOf('HoldClosed'))
      complain(`${stream} still holds ${held}`);
  }
}

async function balanceOf(
  { client, scene }: VerdictOptions,
  user: User | undefined,
  currency: Currency,
): Promise<Readonly<Record<string, unknown>>> {
  const body = { userId: user?.userId, currency: currency.id };
  return eventually('the balance is answered', async () => {
    const answer = await client.post('/treasury/balance', body, { key: scene.secretKey });
    return answer.status === 200 ? answer.json : undefined;
  });
}

async function onChain(chain: Chain, wallet: string, mint: string): Promise<bigint> {
  if (mint !== 'native') {
    const accounts = await chain.tokenAccountsOf(wallet, 'finalized');
    return accounts.filter((one) => one.mint === mint).reduce((total, { amount }) => total + amount, 0n);
  }
  const [found] = await chain.accounts([wallet], 'finalized');
  return found?.lamports ?? 0n;
}

async function allSignedBy(chain: Chain, feePayer: string): Promise<readonly ExecutedTransaction[]> {
  const found: ExecutedTransaction[] = [];
  for (const { signature } of await allNaming(chain, feePayer)) {
    const executed = await chain.transaction(signature);
    if (!executed) throw new Error(`${signature} is not final.`);
    // The rest is what it was funded with.
    if (executed.signers.includes(feePayer)) found.push(executed);
  }
  return found;
}

async function allNaming(chain: Chain, address: string) {
  const found: Awaited<ReturnType<Chain['transactionsOf']>>[number][] = [];
  for (;;) {
    const before = found.at(-1)?.signature;
    const page = await chain.transactionsOf(address, { limit: PAGE, ...(before && { before }) });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
