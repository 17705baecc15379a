/** Which addresses a webhook may be sent to. Sources: the IANA registries of special-purpose addresses; RFC 6052, 3056. */
import { BlockList, isIP, isIPv4 } from 'node:net';

/** IPv4 is allowed unless it is listed here. */
const RESERVED_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // shared by carriers (CGNAT); holds a metadata address of Alibaba
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's own services inside a virtual machine
  '169.254.0.0/16', // link-local, with most metadata services
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments; holds the metadata address of Oracle
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/**
 * IPv6 is allowed only if it is global unicast and not listed here. That refuses everything that stands for an IPv4
 * address (mapped, compatible, translated, NAT64), unique local and link-local addresses without naming them.
 */
const GLOBAL_IPV6 = '2000::/3';
const RESERVED_IPV6 = [
  '2001::/23', // protocol assignments, with Teredo
  '2001:db8::/32',
  '2002::/16', // 6to4: stands for an IPv4 address
  '2620:4f:8000::/48',
  '3fff::/20',
];

const reserved = blockListOf([...RESERVED_IPV4, ...RESERVED_IPV6]);
const globalIpv6 = blockListOf([GLOBAL_IPV6]);
const loopback = blockListOf(['127.0.0.0/8', '::1/128']);

/** False for what is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  return isIPv4(address)
    ? !reserved.check(address)
    : globalIpv6.check(address, 'ipv6') && !reserved.check(address, 'ipv6');
}

/** An IPv4 address within IPv6 is not meant: nobody needs it to reach this machine. */
export const isLoopbackAddress = (address: string): boolean =>
  isIPv4(address) ? loopback.check(address) : address === '::1';

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/');
    list.addSubnet(network, Number(prefix), isIPv4(network) ? 'ipv4' : 'ipv6');
  }
  return list;
}
