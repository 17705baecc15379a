export { custodyContext } from './context.ts';
