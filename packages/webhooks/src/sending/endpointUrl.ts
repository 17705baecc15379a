/** Where an endpoint may be: its URL when it is set, and the address that is dialled at each attempt. */
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isLoopbackAddress, isPublicAddress } from './addresses.ts';

/**
 * `public`: https to public addresses. `loopback`: also http and https to this machine. `insecure`: also http anywhere
 * else.
 */
export type Reach = 'public' | 'loopback' | 'insecure';

/** All addresses of a name, or a failure of the name service. The signal ends it. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

const MAX_URL_LENGTH = 2_048;
/** Names that exist only inside some network. */
const INTERNAL_NAME = /(^|\.)(local|internal|lan|intranet|corp|home|private|onion|home\.arpa)$/;
const LOOPBACK_NAME = /(^|\.)localhost$/;
const THIS_MACHINE = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
] as const;

/** A lost question is asked once more. With one name server that leaves time for the exchange itself. */
const NAME_SERVER_OPTIONS = { timeout: 2_000, tries: 2 } as const;

/** Undefined if the URL itself shows that it is not allowed. */
export function endpointUrl(text: string, reach: Reach): URL | undefined {
  // What a URL parser would silently repair is refused: two parsers may repair it differently.
  if (text.length > MAX_URL_LENGTH || !/^https?:\/\/[^/?#@\\\s]+([/?#][^\\\s]*)?$/i.test(text))
    return undefined;
  if (hasControlCharacter(text)) return undefined;
  const url = URL.parse(text);
  return url && isAllowedPort(url.port) && isAllowedHost(url, reach) ? url : undefined;
}

/** The addresses to dial, all of them checked. Undefined if any is not allowed. */
export async function addressesToDial(
  url: URL,
  reach: Reach,
  resolveHost: (host: string) => ReturnType<ResolveHost>,
): Promise<readonly LookupAddress[] | undefined> {
  const host = hostOf(url);
  const family = isIP(host);
  const addresses = family === 0 ? await resolveHost(host) : [{ address: host, family }];
  return addresses.length > 0 && addresses.every(({ address }) => isAllowedAddress(address, url, reach))
    ? addresses
    : undefined;
}

/**
 * Asks name servers: those that this machine is set up with, unless others are given. The machine's own lookup also reads its
 * hosts file, but takes one of a few threads of the whole process for as long as a name server is silent. It is not asked even
 * if they fail, which is for the owner of a name to bring about.
 */
export const resolveByNameServers =
  (servers?: readonly string[]): ResolveHost =>
  async (host, signal) => {
    // Source: RFC 6761.
    if (LOOPBACK_NAME.test(host)) return THIS_MACHINE;
    // One for each name, so that each ends by itself.
    const resolver = new Resolver(NAME_SERVER_OPTIONS);
    if (servers) resolver.setServers(servers);
    const end = () => resolver.cancel();
    signal.addEventListener('abort', end);
    try {
      const [six, four] = await Promise.allSettled([resolver.resolve6(host), resolver.resolve4(host)]);
      if (six.status === 'rejected' && four.status === 'rejected') throw four.reason;
      // Where there is no IPv6, its addresses fail at once; the last address that is tried is waited for longest.
      return [...addressesOf(six, 6), ...addressesOf(four, 4)];
    } finally {
      signal.removeEventListener('abort', end);
    }
  };

const addressesOf = (
  found: PromiseSettledResult<readonly string[]>,
  family: 4 | 6,
): readonly LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : [];

/** Without the brackets of IPv6 and the dot of the root. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, '');

function isAllowedHost(url: URL, reach: Reach): boolean {
  const host = hostOf(url);
  if (isIP(host) !== 0) return isAllowedAddress(host, url, reach);
  if (LOOPBACK_NAME.test(host)) return reach !== 'public';
  if (!host.includes('.') || INTERNAL_NAME.test(host)) return false;
  return url.protocol === 'https:' || reach === 'insecure';
}

function isAllowedAddress(address: string, { protocol }: URL, reach: Reach): boolean {
  if (isLoopbackAddress(address)) return reach !== 'public';
  return isPublicAddress(address) && (protocol === 'https:' || reach === 'insecure');
}

/** The empty port is that of the scheme. */
function isAllowedPort(port: string): boolean {
  return port === '' || port === '80' || port === '443' || Number(port) >= 1_024;
}

function hasControlCharacter(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f');
}
