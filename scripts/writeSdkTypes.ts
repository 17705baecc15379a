/**
 * Regenerates `packages/sdk/src/api.ts` from the OpenAPI document of a service that it starts. Run it after
 * changing what an endpoint takes or answers.
 */
import { writeFile } from 'node:fs/promises';
import { startWorld } from '../services/coffer/src/testing/world.ts';
import { SDK_TYPES, sdkTypes } from './sdk/sdkTypes.ts';

const world = await startWorld();
try {
  const { json } = await world.client.get('/openapi.json', { key: null });
  await writeFile(SDK_TYPES, await sdkTypes(json));
} finally {
  await world.stop();
}
process.stdout.write('packages/sdk/src/api.ts is that of the API.\n');
// The server of the database stays up for the specs of one process.
process.exit();
