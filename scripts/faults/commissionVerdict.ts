/** What must be true of commissions at the end of the log, and of what the service says about them. */
import { type Client, requireStatus } from '@coffer/host/testing';
import { parseStreamName } from '@coffer/kernel';
import { commissionEvents } from '@coffer/referrals/testing';
import { eventually } from '@coffer/testing';
import { eventOf, type LoggedEvent } from '../../services/coffer/src/testing/books.ts';
import { type AskedCommission, CHIP } from './commissions.ts';
import type { Scene } from './scene.ts';

export interface CommissionVerdictOptions {
  readonly client: Client;
  readonly scene: Scene;
  readonly asked: readonly AskedCommission[];
  readonly complain: (violation: string) => void;
}

/** How many there are. */
export async function judgeCommissions(options: CommissionVerdictOptions): Promise<number> {
  let violations: readonly string[] = [];
  let count = 0;
  // What a killed service left is finished by the process.
  await eventually('the earnings follow from the commissions', async () => {
    const events = (await options.client.lines('/portal/log')).map(eventOf);
    const decided = events.filter(({ stream }) => parseStreamName(stream)?.category === 'commission');
    count = decided.length;
    violations = [...decisionViolations(options, decided), ...(await earningsViolations(options, decided))];
    return violations.length === 0 || undefined;
  }).catch(() => violations.forEach(options.complain));
  return count;
}

/** Every accepted key is a commission as requested, and there is no other but those that are uncertain. */
function decisionViolations(
  { asked }: CommissionVerdictOptions,
  decided: readonly LoggedEvent[],
): readonly string[] {
  const byKey = new Map(asked.map((one) => [one.idemKey, one]));
  const unasked = decided.flatMap((stored) => {
    const { type, data } = commissionEvents.decode(stored);
    const one = byKey.get(data.idemKey);
    byKey.delete(data.idemKey);
    const isAsAsked =
      one &&
      type === DECIDED[one.kind] &&
      data.userId === one.user.userId &&
      (one.amount === undefined || data.amount === one.amount) &&
      (one.accepted !== undefined || one.isUncertain);
    return isAsAsked ? [] : [`the log has a commission that nobody requested: ${data.idemKey}`];
  });
  const lost = [...byKey.values()].filter(({ accepted }) => accepted !== undefined);
  return [...unasked, ...lost.map(({ idemKey }) => `${idemKey} was accepted, but its commission is lost`)];
}

async function earningsViolations(
  options: CommissionVerdictOptions,
  decided: readonly LoggedEvent[],
): Promise<readonly string[]> {
  const { users } = options.scene;
  const accrued = new Map<string, bigint>();
  const withdrawn = new Map<string, bigint>();
  const add = (sums: Map<string, bigint>, userId: string, amount: bigint) =>
    sums.set(userId, (sums.get(userId) ?? 0n) + amount);
  for (const { type, data } of decided.map((stored) => commissionEvents.decode(stored))) {
    if (type === 'PayoutDecided') add(accrued, data.userId, data.amount);
    else if (type === 'WithdrawalDecided') add(withdrawn, data.userId, data.amount);
    else {
      const above = users.slice(users.findIndex(({ userId }) => userId === data.userId) + 1);
      for (const [index, bps] of data.levels.entries()) {
        const referrer = above[index];
        if (referrer) add(accrued, referrer.userId, (data.amount * BigInt(bps)) / 10_000n);
      }
    }
  }
  const violations: string[] = [];
  for (const { userId } of users) {
    const [all, taken] = [accrued.get(userId) ?? 0n, withdrawn.get(userId) ?? 0n];
    const expected = `${[all, taken, all - taken, taken]}`;
    const told = await figuresOf(options, userId);
    if (told !== expected) violations.push(`the earnings of ${userId} are ${told}, not ${expected}`);
  }
  return violations;
}

const DECIDED = {
  payout: 'PayoutDecided',
  distribute: 'DistributionDecided',
  withdraw: 'WithdrawalDecided',
} as const;

/** Accrued, withdrawn, the balance, and the available funds, which nothing else moves. */
async function figuresOf(
  { client, scene: { appId, secretKey: key } }: CommissionVerdictOptions,
  userId: string,
): Promise<string> {
  const { json } = requireStatus(
    await client.post('/referrals/balance', { userId, currency: CHIP }, { key }),
    200,
  );
  const account = `/portal/app/${appId}/test/users/${userId}/accounts?currency=CHIP`;
  const { available } = requireStatus(await client.get(account), 200).json;
  return `${[json.accrued, json.withdrawn, json.balance, available]}`;
}
