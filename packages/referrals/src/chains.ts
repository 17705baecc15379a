/** A user's referrers, one above the other. Source: contract, Referrals (chain). */
import { type CommandContext, type CommandHandler, type Requester, requestedBy } from '@coffer/event-store';
import { type AppPlace, type Clock, isoTimeOf } from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { type Referral, referral, referralStreamOf } from './domain/referral.ts';
import type { ChainLink } from './domain/splitByLevels.ts';

export interface Referrer extends ChainLink {
  /** Null for an erased user. */
  readonly code: string | null;
}

export interface ChainDependencies {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly users: Pick<Users, 'standing'>;
  readonly clock: Clock;
}

export type Chains = ReturnType<typeof createChains>;

export function createChains({ handler, users, clock }: ChainDependencies) {
  return { showOf, chainOf };

  /** The user's code and referrer; what can never change again is answered from memory. */
  async function showOf(place: AppPlace, userId: string, context: Requester): Promise<Referral> {
    return show(place, userId, requestedBy(context, isoTimeOf(clock)));
  }

  async function show(place: AppPlace, userId: string, context: CommandContext): Promise<Referral> {
    const stream = referralStreamOf({ ...place, userId });
    return (await handler.execute(referral, stream, { type: 'ShowReferral' }, context)).answer;
  }

  /** From the direct referrer up, at most `depth` of them. */
  async function chainOf(
    place: AppPlace,
    userId: string,
    depth: number,
    context: Requester,
  ): Promise<readonly Referrer[]> {
    const by = requestedBy(context, isoTimeOf(clock));
    const met = new Set([userId]);
    const chain: { readonly userId: string; readonly code: string | undefined }[] = [];
    let { link } = await show(place, userId, by);
    while (link?.status === 'attributed' && chain.length < depth && !met.has(link.referrerUserId)) {
      const above = link.referrerUserId;
      met.add(above);
      const state = await show(place, above, by);
      chain.push({ userId: above, code: state.code });
      link = state.link;
    }
    const { environment, scopeId } = place;
    return Promise.all(
      chain.map(async (one, index) => {
        const standing = await users.standing({ environment, scopeId, userId: one.userId }, context);
        const isErased = standing === 'erased';
        return { level: index + 1, userId: one.userId, isErased, code: isErased ? null : (one.code ?? null) };
      }),
    );
  }
}
