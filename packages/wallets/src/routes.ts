/** What an operator does with the master keys. No answer holds a key: only versions and counts. */
import { type Endpoint, endpoint } from '@coffer/http';
import { environment } from '@coffer/kernel';
import { z } from 'zod';
import { listMasterKeyUse } from './masterKeyVersions.ts';
import { createMasterKeyRotation, type RotationOptions } from './rotation.ts';

const useBody = z.object({
  items: z.array(
    z.object({
      environment,
      version: z.int(),
      /** Keys of wallets are sealed under it from now on. */
      isCurrent: z.boolean(),
      /** How many wallet keys only this version opens. At 0, a version that is not current may be removed. */
      walletKeys: z.int(),
      activatedAt: z.iso.datetime(),
    }),
  ),
});

export function masterKeyEndpoints(options: RotationOptions): readonly Endpoint[] {
  const rotation = createMasterKeyRotation(options);
  const use = async () => ({
    items: (await listMasterKeyUse(options.pool)).map(({ activatedAt, ...one }) => ({
      ...one,
      activatedAt: activatedAt.toISOString(),
    })),
  });
  return [
    endpoint({
      method: 'GET',
      path: '/portal/master-keys',
      credential: 'operator',
      summary: 'List the versions of the master keys, with how many wallet keys are under each',
      success: { status: 200, schema: useBody },
      errors: [],
      handle: async () => ({ status: 200, body: await use() }),
    }),
    endpoint({
      method: 'POST',
      path: '/portal/master-keys/rotate',
      credential: 'operator',
      summary: 'Put the next version of the master keys to use and bring the keys of wallets under it',
      description:
        'The keys of wallets follow in the background; the list shows how many are left under an old version. If the installation makes its own master keys, a new one is made; otherwise the newest of those given is put to use, which every process must hold by then.',
      body: z.strictObject({ environment: environment.optional() }),
      success: { status: 200, schema: useBody },
      errors: ['wallets/keys_unavailable', 'wallets/no_newer_master_key'],
      handle: async ({ body, context: { actor, requestId } }) => {
        await rotation.rotate({ environment: body.environment, actor, requestId });
        return { status: 200, body: await use() };
      },
    }),
  ];
}
