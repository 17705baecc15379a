import { expect } from 'chai';
import { apiThreadsOf, ConfigurationError, cacheMiBOf, configFrom, unknownVariables } from './config.ts';

const problemsOf = (environment: Readonly<Record<string, string>>): string => {
  try {
    configFrom(environment);
    return '';
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.message;
  }
};

describe('the configuration', () => {
  const wrong: readonly (readonly [name: string, text: string])[] = [
    ['COFFER_TRUST_PROXY', 'the proxy'],
    ['COFFER_TRUST_PROXY', '10.0.0.0/99'],
    ['COFFER_TRUST_PROXY', 'loopback,'],
    ['HOST', 'http://0.0.0.0'],
    ['HOST', '0.0.0.0:8080'],
    ['COFFER_STORE_GATEWAY_HOST', '*'],
    ['COFFER_STORE_GATEWAY_USER', 'a:b'],
    ['EVENTSTORE_URL', 'esdb://node-1:port'],
    ['EVENTSTORE_URL', 'esdb://admin:s3cret@'],
    ['COFFER_OPERATOR_HOST', '10.0.0.7'],
    ['COFFER_PUBLIC_ORIGIN', 'wallets.example'],
    ['COFFER_PUBLIC_ORIGIN', 'https://wallets.example/v1'],
  ];
  for (const [name, text] of wrong) {
    it(`of ${name} is looked at before anything starts: not ${text}`, () => {
      expect(problemsOf({ [name]: text }))
        .to.match(new RegExp(`^  ${name}: `, 'm'))
        .and.not.include('s3cret');
    });
  }

  it('takes every form of them that is described', () => {
    for (const text of ['loopback', '10.0.0.0/8, 192.0.2.7', '2001:db8::/32', '2', 'true', 'false']) {
      expect(problemsOf({ COFFER_TRUST_PROXY: text }), text).to.equal('');
    }
    for (const text of ['0.0.0.0', '::', '::1', 'localhost', 'api_1.internal']) {
      expect(problemsOf({ HOST: text }), text).to.equal('');
    }
    expect(configFrom({ COFFER_TRUST_PROXY: '2' }).trustProxy).to.equal(2);
    expect(configFrom({ COFFER_MAX_CONCURRENT_REQUESTS: '1' }).maxConcurrentRequests).to.equal(1);
    expect(configFrom({}).trustProxy).to.equal(false);
    expect(configFrom({ COFFER_PUBLIC_ORIGIN: 'https://Wallets.example/' }).publicOrigin).to.equal(
      'https://wallets.example',
    );
  });

  it('tells what does not go together along with what is wrong by itself, and what is not known', () => {
    const problems = problemsOf({
      PORT: 'eighty',
      EVENTSTORE_URL: 'esdb://node-1',
      COFFER_STORE_GATEWAY_PORT: '2113',
      COFFER_STORE_GATEWAY_TLS: '0',
      COFFER_STORE_GATEWAY_HOST: '0.0.0.0',
      COFFER_TRUST_PROXI: 'loopback',
    });
    for (const name of [
      'PORT',
      'COFFER_STORE_GATEWAY_PORT',
      'COFFER_STORE_GATEWAY_HOST',
      'COFFER_TRUST_PROXI',
    ]) {
      expect(problems).to.match(new RegExp(`^  ${name}: `, 'm'));
    }
  });

  it('has no store gateway that takes appends in plain text, wherever it listens', () => {
    const writable = { COFFER_STORE_GATEWAY_PORT: '2113', COFFER_STORE_GATEWAY_WRITABLE: '1' };
    expect(problemsOf({ ...writable, COFFER_STORE_GATEWAY_TLS: '0' })).to.match(
      /^ {2}COFFER_STORE_GATEWAY_WRITABLE: needs TLS: /m,
    );
    expect(problemsOf(writable)).to.equal('');
    expect(problemsOf({ COFFER_STORE_GATEWAY_PORT: '2113', COFFER_STORE_GATEWAY_TLS: '0' })).to.equal('');
  });

  it('keeps the password of the store gateway apart from the operator token', () => {
    const same = 's3cret'.repeat(8);
    const problems = problemsOf({ COFFER_OPERATOR_TOKEN: same, COFFER_STORE_GATEWAY_PASSWORD: same });
    expect(problems)
      .to.match(/^ {2}COFFER_STORE_GATEWAY_PASSWORD: must differ from/m)
      .and.not.include('s3cret');
  });

  it('knows which of its variables was probably meant by one that is none', () => {
    const told = unknownVariables({
      COFFER_TRUST_PROXI: '1',
      COFFER_SECRET_KEY: 'x',
      COFFER_FOO: 'x',
      COFFER_METRIC_PUBLIC: '1',
      COFFER_SOMETHING_ELSE_ALTOGETHER: '1',
      COFFER_URL: 'http://127.0.0.1:8080',
      COFFER_DATA_DIR: '.data',
      COFFER_UNSET: '',
      PATH: '/bin',
    });
    expect(told).to.deep.equal([
      'COFFER_TRUST_PROXI: there is no such setting; did you mean COFFER_TRUST_PROXY?',
      'COFFER_SECRET_KEY: there is no such setting; did you mean COFFER_SECRETS_KEY?',
      'COFFER_FOO: there is no such setting',
      'COFFER_METRIC_PUBLIC: there is no such setting; did you mean COFFER_METRICS_PUBLIC?',
      'COFFER_SOMETHING_ELSE_ALTOGETHER: there is no such setting',
    ]);
  });

  it('keeps the states of streams in a sixteenth of the memory, unless it is told otherwise', () => {
    const GIB = 1024 ** 3;
    expect([1, 4, 16, 256].map((gib) => cacheMiBOf(gib * GIB))).to.deep.equal([128, 256, 1_024, 2_048]);
    expect(configFrom({}).cacheBytes).to.be.within(128 * 1024 ** 2, 2 * GIB);
    expect(configFrom({ COFFER_CACHE_MIB: '64' }).cacheBytes).to.equal(64 * 1024 ** 2);
  });

  it('serves the API in as many threads as a quarter of the cores, where threads can share a port', () => {
    const most = process.platform === 'linux' ? 4 : 1;
    const threads = [1, 2, 8, 16, 64].map(apiThreadsOf);
    expect(threads).to.deep.equal([1, 1, 2, 4, 4].map((count) => Math.min(count, most)));
    expect(configFrom({ COFFER_API_THREADS: '1' }).apiThreads).to.equal(1);
    expect(problemsOf({ COFFER_API_THREADS: '0' })).to.match(/COFFER_API_THREADS: .*1/);
    if (most === 1) expect(problemsOf({ COFFER_API_THREADS: '2' })).to.include('only on Linux');
  });
});
