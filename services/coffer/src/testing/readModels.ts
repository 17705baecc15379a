/** The rows of the read models in a service's database. */
import { withPool } from '@coffer/database';
import { openStoreOf } from '@coffer/host/testing';
import * as filled from '@coffer/read-models/testing';
import { CONTEXTS } from '../contexts.ts';

export const freshRows = (databaseUrl: string) =>
  withSource(databaseUrl, (source) => filled.freshRows(source, CONTEXTS.facts.projections));
export const caughtUpRows = (databaseUrl: string) => withSource(databaseUrl, filled.caughtUpRows);
export const holdsCaughtUp = (databaseUrl: string) => withSource(databaseUrl, filled.holdsCaughtUp);

const withSource = <Result>(databaseUrl: string, use: (source: filled.ReadSource) => Promise<Result>) =>
  withPool(databaseUrl, async (pool) => {
    const store = await openStoreOf(databaseUrl);
    try {
      return await use({ pool, store });
    } finally {
      await store.close();
    }
  });
