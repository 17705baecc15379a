/** The vocabulary of the ledger's suites, for the whole service. */
import { useLedgerIn } from '@coffer/ledger/testing';
import { startWorld, type WorldOptions } from './world.ts';

export { verdict } from '@coffer/host/testing';

export const useLedger = (options: WorldOptions = {}) => useLedgerIn(() => startWorld(options));
