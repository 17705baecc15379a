import { snapshotStoreContract } from '../snapshotStore.contract.ts';
import { createMemorySnapshotStore } from './memorySnapshotStore.ts';

describe('snapshots in memory', () => snapshotStoreContract(createMemorySnapshotStore));
