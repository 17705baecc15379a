/** For specs of other packages: what a log says of earnings. */
export { balanceOf, type Earnings } from '../domain/earnings.state.ts';
export { earnings, parseEarningsStream } from '../domain/earnings.ts';
