import { until } from '@coffer/testing';
import { expect } from 'chai';
import { type NameServer, startNameServer } from '../testing/nameServer.ts';
import { addressesToDial, endpointUrl, type Reach, resolveByNameServers } from './endpointUrl.ts';

/** What must never be reached, and how one might try. */
const REFUSED: readonly (readonly [trick: string, url: string])[] = [
  ['http', 'http://hooks.example/'],
  ['another scheme', 'ftp://hooks.example/'],
  ['a file', 'file:///etc/passwd'],
  ['a data URL', 'data:text/plain,x'],
  ['no scheme', 'hooks.example/x'],
  ['no text', ''],
  ['a scheme without slashes', 'https:hooks.example'],
  ['one slash', 'https:/10.0.0.1/'],
  ['three slashes', 'https:///10.0.0.1/'],
  ['backslashes', 'https:\\\\10.0.0.1\\'],
  ['a backslash before the host', 'https://hooks.example\\@10.0.0.1/'],
  ['a space before it', ' https://hooks.example/'],
  ['a tab within', 'https://hooks.exam\tple/'],
  ['a line feed within', 'https://hooks.example/\nHost: x'],
  ['a NUL', 'https://hooks.example/\0'],
  ['a user', 'https://user@hooks.example/'],
  ['a user and a password', 'https://user:pass@hooks.example/'],
  ['an empty user', 'https://@hooks.example/'],
  ['a host that looks like a user', 'https://hooks.example@10.0.0.1/'],
  ['a fragment instead of a host', 'https://#@hooks.example/'],
  ['port 22', 'https://hooks.example:22/'],
  ['port 25', 'https://hooks.example:25/'],
  ['port 1023', 'https://hooks.example:1023/'],
  ['port 0', 'https://hooks.example:0/'],
  ['port 65536', 'https://hooks.example:65536/'],
  ['a port that is no number', 'https://hooks.example:x/'],
  ['a URL of 2,049 characters', `https://hooks.example/${'x'.repeat(2_027)}`],
  ['this machine by name', 'https://localhost/'],
  ['this machine by name, in capitals', 'https://LOCALHOST/'],
  ['this machine by name, with the dot of the root', 'https://localhost./'],
  ['a name below localhost', 'https://a.localhost/'],
  ['a name without a dot', 'https://postgres/'],
  ['a name of mDNS', 'https://printer.local/'],
  ['the metadata service of Google by name', 'https://metadata.google.internal/'],
  ['a name of a home network', 'https://router.home.arpa/'],
  ['a name of a local network', 'https://nas.lan/'],
  ['a hidden service', 'https://abc.onion/'],
  ['127.0.0.1', 'https://127.0.0.1/'],
  ['127.0.0.1 with the dot of the root', 'https://127.0.0.1./'],
  ['the end of 127/8', 'https://127.255.255.254/'],
  ['127.0.0.1, shortened', 'https://127.1/'],
  ['127.0.0.1 in decimal', 'https://2130706433/'],
  ['127.0.0.1 in hexadecimal', 'https://0x7f000001/'],
  ['127.0.0.1 in octal', 'https://0177.0.0.1/'],
  ['127.0.0.1, mixed', 'https://0x7f.0.0.01/'],
  ['127.0.0.1 in enclosed digits', 'https://①②⑦.⓪.⓪.①/'],
  ['127.0.0.1 in full-width digits', 'https://１２７.0.0.1/'],
  ['127.0.0.1 with ideographic dots', 'https://127。0。0。1/'],
  ['127.0.0.1, percent-encoded', 'https://%31%32%37.0.0.1/'],
  ['0.0.0.0', 'https://0.0.0.0/'],
  ['0', 'https://0/'],
  ['10/8', 'https://10.0.0.1/'],
  ['the end of 10/8', 'https://10.255.255.255/'],
  ['carriers', 'https://100.64.0.1/'],
  ['the metadata service of Alibaba', 'https://100.100.100.200/'],
  ['Azure within a virtual machine', 'https://168.63.129.16/'],
  ['the metadata service of most clouds', 'https://169.254.169.254/latest/meta-data/'],
  ['the same in decimal', 'https://2852039166/'],
  ['the metadata service of ECS', 'https://169.254.170.2/'],
  ['172.16/12', 'https://172.16.0.1/'],
  ['the end of 172.16/12', 'https://172.31.255.255/'],
  ['protocol assignments', 'https://192.0.0.192/'],
  ['documentation 1', 'https://192.0.2.1/'],
  ['documentation 2', 'https://198.51.100.1/'],
  ['documentation 3', 'https://203.0.113.1/'],
  ['AS112', 'https://192.31.196.1/'],
  ['AMT', 'https://192.52.193.1/'],
  ['AS112 by delegation', 'https://192.175.48.1/'],
  ['relays of 6to4', 'https://192.88.99.1/'],
  ['192.168/16', 'https://192.168.1.1/'],
  ['benchmarks', 'https://198.19.255.255/'],
  ['multicast', 'https://224.0.0.1/'],
  ['reserved', 'https://240.0.0.1/'],
  ['broadcast', 'https://255.255.255.255/'],
  ['::', 'https://[::]/'],
  ['::1', 'https://[::1]/'],
  ['::1 in full', 'https://[0:0:0:0:0:0:0:1]/'],
  ['IPv4-mapped loopback', 'https://[::ffff:127.0.0.1]/'],
  ['IPv4-mapped metadata in hexadecimal', 'https://[::ffff:a9fe:a9fe]/'],
  ['an IPv4-mapped public address', 'https://[::ffff:8.8.8.8]/'],
  ['IPv4-compatible', 'https://[::127.0.0.1]/'],
  ['IPv4-translated', 'https://[::ffff:0:127.0.0.1]/'],
  ['NAT64', 'https://[64:ff9b::10.0.0.1]/'],
  ['NAT64 of a local network', 'https://[64:ff9b:1::a00:1]/'],
  ['6to4 of 10.0.0.1', 'https://[2002:a00:1::]/'],
  ['Teredo', 'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/'],
  ['ORCHID', 'https://[2001:20::1]/'],
  ['documentation in IPv6', 'https://[2001:db8::1]/'],
  ['documentation in IPv6, the second', 'https://[3fff::1]/'],
  ['AS112 in IPv6', 'https://[2620:4f:8000::1]/'],
  ['segment routing', 'https://[5f00::1]/'],
  ['discard', 'https://[100::1]/'],
  ['unique local', 'https://[fc00::1]/'],
  ['the metadata service of AWS', 'https://[fd00:ec2::254]/'],
  ['link-local', 'https://[fe80::1]/'],
  ['link-local with a zone', 'https://[fe80::1%25eth0]/'],
  ['site-local', 'https://[fec0::1]/'],
  ['multicast in IPv6', 'https://[ff02::1]/'],
];

const ALLOWED = [
  'https://hooks.example/',
  'https://hooks.example',
  'HTTPS://Hooks.Example/a?b=c',
  'https://hooks.example.:8443/',
  'https://hooks.example:80/',
  'https://hooks.example:443/',
  'https://hooks.example:1024/',
  'https://hooks.example:65535/',
  'https://bücher.example/',
  'https://8.8.8.8/',
  'https://172.32.0.1/',
  'https://100.128.0.1/',
  'https://[2606:4700:4700::1111]/',
];

const resolving =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const dial = (text: string, reach: Reach, ...addresses: string[]) => {
  const url = endpointUrl(text, reach);
  return url && addressesToDial(url, reach, resolving(...addresses));
};

describe('the URL of an endpoint', () => {
  for (const [trick, url] of REFUSED) {
    it(`is refused: ${trick}`, () => expect(endpointUrl(url, 'public')).to.equal(undefined));
  }
  for (const url of ALLOWED) {
    it(`may be ${url}`, () => expect(endpointUrl(url, 'public')).to.be.instanceOf(URL));
  }

  it('may be 2,048 characters long', () =>
    expect(endpointUrl(`https://hooks.example/${'x'.repeat(2_026)}`, 'public')).not.to.equal(undefined));

  const ofThisMachine = ['http://127.0.0.1:3000/hooks', 'http://localhost:3000/', 'https://[::1]:3000/'];
  for (const url of ofThisMachine) {
    it(`may be ${url} only where this machine may be reached`, () => {
      expect(endpointUrl(url, 'public')).to.equal(undefined);
      expect(endpointUrl(url, 'loopback')).not.to.equal(undefined);
      expect(endpointUrl(url, 'insecure')).not.to.equal(undefined);
    });
  }

  it('may be http elsewhere only on an insecure installation, and private nowhere', () => {
    expect(endpointUrl('http://hooks.example/', 'loopback')).to.equal(undefined);
    expect(endpointUrl('http://8.8.8.8/', 'loopback')).to.equal(undefined);
    expect(endpointUrl('http://hooks.example/', 'insecure')).not.to.equal(undefined);
    for (const address of ['10.0.0.1', '169.254.169.254', '0.0.0.0', '[::ffff:127.0.0.1]', '[::]'])
      expect(endpointUrl(`http://${address}/`, 'insecure'), address).to.equal(undefined);
  });
});

describe('the address that is dialled', () => {
  it('is every one that the name has, if all are public', async () =>
    expect(await dial('https://hooks.example/', 'public', '8.8.8.8', '2606:4700::1')).to.have.length(2));

  for (const address of [
    '10.0.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    'fe80::1%eth0',
    '::ffff:10.0.0.1',
  ]) {
    it(`is never ${address}, not even as one of several`, async () => {
      expect(await dial('https://hooks.example/', 'public', address)).to.equal(undefined);
      expect(await dial('https://hooks.example/', 'public', '8.8.8.8', address)).to.equal(undefined);
    });
  }

  it('is none, if the name has none', async () =>
    expect(await dial('https://hooks.example/', 'public')).to.equal(undefined));

  it('is this machine only where that may be reached, and then over http no other', async () => {
    expect(await dial('http://localhost/', 'loopback', '127.0.0.1', '::1')).to.have.length(2);
    expect(await dial('http://localhost/', 'loopback', '8.8.8.8')).to.equal(undefined);
    expect(await dial('https://hooks.example/', 'loopback', '127.0.0.1')).to.have.length(1);
    expect(await dial('http://hooks.example/', 'insecure', '10.0.0.1')).to.equal(undefined);
  });

  it('of a literal is that literal', async () =>
    expect(await dial('https://8.8.8.8/', 'public')).to.deep.equal([{ address: '8.8.8.8', family: 4 }]));
});

describe('the addresses of a name', () => {
  let server: NameServer;
  before(async () => {
    server = await startNameServer({
      'both.example': { ipv4: ['8.8.8.8', '8.8.4.4'], ipv6: ['2606:4700:0000:0000:0000:0000:0000:1111'] },
      'mixed.example': { ipv4: ['8.8.8.8'], ipv6: ['0000:0000:0000:0000:0000:0000:0000:0001'] },
      'old.example': { ipv4: ['8.8.8.8'] },
      'none.example': {},
    });
  });
  after(() => server.close());

  const { signal } = new AbortController();
  const found = async (host: string) =>
    (await resolveByNameServers([server.address])(host, signal)).map(({ address, family }) => [
      address,
      family,
    ]);
  const failureOf = (host: string, ending: AbortSignal = signal) =>
    resolveByNameServers([server.address])(host, ending).then(
      () => 'none',
      ({ code }: NodeJS.ErrnoException) => code,
    );

  it('are those of both families, as the name servers say', async () => {
    expect(await found('both.example')).to.have.deep.members([
      ['8.8.8.8', 4],
      ['8.8.4.4', 4],
      ['2606:4700::1111', 6],
    ]);
    expect(await found('old.example')).to.deep.equal([['8.8.8.8', 4]]);
    expect(await failureOf('none.example')).to.equal('ENODATA');
  });

  it('are all checked', async () => {
    const dialled = (host: string) =>
      addressesToDial(new URL(`https://${host}/`), 'public', (name) =>
        resolveByNameServers([server.address])(name, signal),
      );
    expect(await dialled('both.example')).to.have.length(3);
    expect(await dialled('mixed.example')).to.equal(undefined);
  });

  it('are those of this machine for localhost, which is asked of nobody', async () => {
    for (const host of ['localhost', 'a.localhost'])
      expect(await found(host)).to.deep.equal([
        ['127.0.0.1', 4],
        ['::1', 6],
      ]);
    expect([...server.asked].filter((name) => name.endsWith('localhost'))).to.deep.equal([]);
  });

  it('are looked for until the signal comes', async () => {
    const ending = new AbortController();
    const failure = failureOf('silent.example', ending.signal);
    await until(() => server.asked.has('silent.example'));
    ending.abort();
    expect(await failure).to.equal('ECANCELLED');
  });
});
