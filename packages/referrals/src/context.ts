/** Who brought whom, and what that earns. */
import type { Accounts } from '@coffer/accounts';
import { defineContext, type Platform, someStream } from '@coffer/host';
import type { AppDirectory } from '@coffer/portal';
import type { Users } from '@coffer/users';
import { attributionEndpoints } from './attributionRoutes.ts';
import { createAttributions } from './attributions.ts';
import { createChains } from './chains.ts';
import { createCodes } from './codes.ts';
import { commissionEndpoints } from './commissionRoutes.ts';
import { createCommissions } from './commissions.ts';
import { commission } from './domain/commission.ts';
import { earnings } from './domain/earnings.ts';
import { referral } from './domain/referral.ts';
import { referralCode } from './domain/referralCode.ts';
import { earningsPostings } from './earnings.postings.ts';
import { referralsErrors } from './errors.ts';
import { makeCode } from './makeCode.ts';
import { operatorReferralEndpoints } from './operatorRoutes.ts';
import { playerReferralEndpoints } from './playerRoutes.ts';
import { referralReadEndpoints } from './readRoutes.ts';
import {
  accruesCommissions,
  finishesAttributions,
  finishesWithdrawals,
  issuesCodes,
} from './referral.reactions.ts';
import { createReferralReads } from './referralReads.ts';
import { referralsProjection } from './referrals.projection.ts';
import { createSubjects } from './subjects.ts';
import { createWithdrawals } from './withdrawals.ts';

export interface ReferralsNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly accounts: Accounts;
}

export const referralsContext = defineContext({
  name: 'referrals',
  errors: referralsErrors,
  streams: [someStream(referralCode), someStream(referral), someStream(commission), someStream(earnings)],
  projections: { referrals: referralsProjection, earningsPostings },
  create({ pool: db, handler, store, clock, failPoint, directory, users, accounts }: ReferralsNeeds) {
    const codes = createCodes({ handler, store, clock, failPoint, makeCode });
    const attributions = createAttributions({
      handler,
      clock,
      failPoint,
      async referrerOf({ appId, environment, scopeId }, code, context) {
        const owner = await codes.ownerOf({ appId, environment }, code, context);
        if (!owner) return undefined;
        const standing = await users.standing({ environment, scopeId, userId: owner.userId }, context);
        return standing === 'erased' ? undefined : owner;
      },
    });
    const chains = createChains({ handler, users, clock });
    const { chainOf } = chains;
    const hasCurrency = async (appId: string, currencyId: number) =>
      (await directory.currencyById(appId, currencyId)) !== undefined;
    const commissions = createCommissions({ handler, store, clock, failPoint, users, hasCurrency, chainOf });
    const withdrawals = createWithdrawals({
      handler,
      store,
      clock,
      failPoint,
      accounts,
      users,
      hasCurrency,
      commissions,
    });
    const subjects = createSubjects({ directory, users, commissions });
    const reads = createReferralReads({ db, store, users, chains, subjects });
    return {
      provides: { attributeByCodes: attributions.attributeByCodes },
      endpoints: [
        ...playerReferralEndpoints({ directory, codes, attributions, chains, subjects }),
        ...attributionEndpoints({ codes, attributions, chains, subjects }),
        ...referralReadEndpoints(reads),
        ...operatorReferralEndpoints({ directory, reads }),
        ...commissionEndpoints({ commissions, withdrawals, subjects }),
      ],
      reactions: {
        holds: [
          issuesCodes(codes),
          finishesAttributions(attributions),
          accruesCommissions(commissions),
          finishesWithdrawals(withdrawals),
        ],
      },
    };
  },
});
