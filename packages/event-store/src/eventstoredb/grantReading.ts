/**
 * What an administrator of the server grants our user, once: that it exists, and that it may read the log as a whole,
 * which by default only administrators may. Our own streams need nothing else.
 */
import usersService from '@eventstore/db-client/generated/users_grpc_pb.js';
import users from '@eventstore/db-client/generated/users_pb.js';
import { addressFrom } from './address.ts';
import { createCluster } from './cluster.ts';
import { ALL } from './failures.ts';
import { guarded } from './guardedClient.ts';

export interface Granted {
  readonly user: string;
  /** False if the user existed: its password is left alone. */
  readonly created: boolean;
  /** Everyone who may now read the log as a whole. */
  readonly readers: readonly string[];
}

const ADMINISTRATORS = '$admins';

/** May be repeated. Throws `StoreAbsentError`, and whatever the server refuses the administrator. */
export async function grantReading(options: {
  /** The connection string of the service. */
  readonly connectionString: string;
  /** The same for an administrator. */
  readonly administrator: string;
}): Promise<Granted> {
  const { user } = addressFrom(options.connectionString);
  if (!user) throw new Error('The connection string names no user.');
  const address = addressFrom(options.administrator);
  const cluster = createCluster(address);
  try {
    const administrator = guarded(address.of(await cluster.leader()));
    const { client } = administrator;
    try {
      const created = await create(user, administrator);
      const { metadata = {} } = await client.getStreamMetadata(ALL);
      const before = rolesIn(metadata.acl?.readRoles);
      const readers = [...new Set([...(before ?? [ADMINISTRATORS]), user.name])];
      if (readers.length !== before?.length) {
        await client.setStreamMetadata(ALL, { ...metadata, acl: { ...metadata.acl, readRoles: readers } });
      }
      return { user: user.name, created, readers };
    } finally {
      await client.dispose();
      await administrator.end();
    }
  } finally {
    await cluster.close();
  }
}

/** False if there is such a user already. */
async function create(
  { name, password }: { readonly name: string; readonly password: string },
  { stubOf, callArguments }: ReturnType<typeof guarded>,
): Promise<boolean> {
  const stub = await stubOf(usersService.UsersClient, 'users');
  const asked = new users.CreateReq.Options().setLoginName(name).setFullName(name).setPassword(password);
  const [metadata, callOptions] = callArguments();
  return new Promise((resolve, reject) => {
    stub.create(new users.CreateReq().setOptions(asked), metadata, callOptions, (error) => {
      if (error?.metadata?.get('exception')[0] === 'user-conflict') resolve(false);
      else if (error) reject(error);
      else resolve(true);
    });
  });
}

const rolesIn = (roles: string | readonly string[] | undefined) =>
  typeof roles === 'string' ? [roles] : roles;
