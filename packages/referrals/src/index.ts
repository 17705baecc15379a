export { referralsContext } from './context.ts';
