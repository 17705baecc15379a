/** For specs of other packages: what a log says of referrals. */
export { commissionEvents } from '../domain/commission.events.ts';
export { commissionStreamOf } from '../domain/commission.ts';
export { earningsEvents } from '../domain/earnings.events.ts';
export { balanceOf, type Earnings } from '../domain/earnings.state.ts';
export { earnings, earningsStreamOf, parseEarningsStream } from '../domain/earnings.ts';
export { referralEvents } from '../domain/referral.events.ts';
export { referralStreamOf } from '../domain/referral.ts';
export { referralsErrors } from '../errors.ts';
