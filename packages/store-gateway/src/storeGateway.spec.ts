import { createMemoryEventStore } from '@coffer/event-store/memory';
import { storeGatewayContract } from './storeGateway.contract.ts';

storeGatewayContract('memory', async () => createMemoryEventStore());
