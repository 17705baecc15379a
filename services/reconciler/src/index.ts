export { reconcilerContext } from './context.ts';
export { isCronExpression } from './schedule.ts';
