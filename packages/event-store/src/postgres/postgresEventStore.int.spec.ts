import { createTestDatabase } from '@coffer/testing';
import { eventStoreContract } from '../eventStore.contract.ts';
import { ourLogContract } from '../ourLog.contract.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { postgresHarness, sharedLogHarness } from '../testing/postgresHarness.ts';

eventStoreContract('postgres', async () => postgresHarness(await createTestDatabase(logTemplate)));
ourLogContract('postgres', async () => sharedLogHarness(await createTestDatabase(logTemplate)));
