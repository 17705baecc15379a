/** The types of the SDK are those of the API. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { startWorld, type World } from '../services/coffer/src/testing/world.ts';
import { SDK_TYPES, sdkTypes } from './sdk/sdkTypes.ts';

describe('the types of the SDK', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  it('are what the OpenAPI document says', async () => {
    const { json } = await world.client.get('/openapi.json', { key: null });
    const written = await readFile(SDK_TYPES, 'utf8');
    expect(written, 'run `node scripts/writeSdkTypes.ts`').to.equal(await sdkTypes(json));
  });
});
