/** The nodes in a connection string; everything else in it is for the client to interpret. */

export interface Node {
  readonly address: string;
  readonly port: number;
}

export interface Address {
  readonly user: { readonly name: string; readonly password: string } | undefined;
  /** The nodes named in the connection string. */
  readonly seeds: readonly Node[];
  /** A single node, not a cluster: it is used as it is, whatever address it reports. */
  readonly isOneNode: boolean;
  /** The connection string for one node, with the same settings and user. */
  of(node: Node): string;
}

export const nameOf = ({ address, port }: Node): string => `${address}:${port}`;

const DEFAULT_PORT = 2113;

/** Throws when this is not a connection string of EventStoreDB, without quoting it. */
export function addressFrom(connectionString: string): Address {
  const [, discover, user = '', hosts, settings = ''] =
    /^esdb(\+discover)?:\/\/([^/?@]+@)?([^/?@]+?)[,/]*(\?.*)?$/.exec(
      connectionString.trim().replace(/\/+$/, ''),
    ) ?? [];
  if (hosts === undefined) throw new Error('This is not a connection string of EventStoreDB.');
  const seeds = hosts.split(',').map((host) => {
    const [address = '', port = `${DEFAULT_PORT}`, ...rest] = host.trim().split(':');
    if (address === '' || !/^\d{1,5}$/.test(port) || rest.length > 0) {
      throw new Error('A node of EventStoreDB must be host or host:port.');
    }
    return { address, port: Number(port) };
  });
  const [, name, password] = /^([^:]+):(.+)@$/.exec(user) ?? [];
  return {
    user:
      name === undefined || password === undefined
        ? undefined
        : { name: decodeURIComponent(name), password: decodeURIComponent(password) },
    seeds,
    isOneNode: seeds.length === 1 && discover === undefined,
    of: (node) => `esdb://${user}${nameOf(node)}${settings}`,
  };
}
