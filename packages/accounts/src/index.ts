export * from './accountFacts.ts';
export * from './accounts.ts';
export { booksProjection } from './books.projection.ts';
export { accountsContext } from './context.ts';
export * from './domain/account.events.ts';
export type { Account } from './domain/account.state.ts';
export {
  type AccountAnswer,
  type AccountCommand,
  account,
  accountStreamOf,
  parseAccountStream,
} from './domain/account.ts';
export * from './domain/accountIds.ts';
export { accountsErrors } from './errors.ts';
export * from './hold.reactions.ts';
export * from './postings.ts';
export { currencyTotals, totalsOfCurrencies } from './totalsOfCurrencies.ts';
