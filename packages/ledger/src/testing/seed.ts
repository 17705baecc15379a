/** The same histories in every run of the specs; `npm run faults -- --ledger` chooses others and prints the seed. */
export const SEED = Number(process.env.COFFER_LEDGER_SEED ?? 1);
