/** Where an endpoint may be: its URL when it is set, and the address that is dialled at each attempt. */
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import { isLoopbackAddress, isPublicAddress } from './addresses.ts';

/**
 * `public`: https to public addresses. `loopback`: also http and https to this machine. `insecure`: also http anywhere
 * else.
 */
export type Reach = 'public' | 'loopback' | 'insecure';

/** All addresses of a name, or a failure of the name service. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

const MAX_URL_LENGTH = 2_048;
/** Names that exist only inside some network. */
const INTERNAL_NAME = /(^|\.)(local|internal|lan|intranet|corp|home|private|onion|home\.arpa)$/;
const LOOPBACK_NAME = /(^|\.)localhost$/;

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
  resolveHost: ResolveHost,
): Promise<readonly LookupAddress[] | undefined> {
  const host = hostOf(url);
  const family = isIP(host);
  const addresses = family === 0 ? await resolveHost(host) : [{ address: host, family }];
  return addresses.length > 0 && addresses.every(({ address }) => isAllowedAddress(address, url, reach))
    ? addresses
    : undefined;
}

export const resolveByThisMachine: ResolveHost = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    );
  });

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
