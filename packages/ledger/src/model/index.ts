export { createModel, type Model } from './model.ts';
export type { Answer, Books, Operation } from './operations.ts';
