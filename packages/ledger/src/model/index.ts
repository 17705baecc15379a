export { createModel, type Model, type ModelOptions } from './model.ts';
export type { Answer, Books, Contents, OpenTerms, Operation, Owed, Step } from './operations.ts';
