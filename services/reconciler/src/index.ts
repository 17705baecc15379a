export * from './reconcilerRole.ts';
export { isCronExpression } from './schedule.ts';
export * from './scrubRole.ts';
