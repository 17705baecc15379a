import { Rejection } from '@coffer/kernel';
import { expect } from 'chai';
import { parseSettingChange, settingKeys, valuesIn } from './settings.ts';

const refusal = (name: string, value: unknown): Rejection => {
  try {
    parseSettingChange(name, value);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  throw new Error(`${name} was taken.`);
};

describe('a change of a setting', () => {
  const taken: readonly [name: string, value: unknown, place: string, json: unknown][] = [
    ['allowedAuthMethods', ['siws', 'email'], 'both', ['siws', 'email']],
    ['allowedAuthMethods', 'siws, email', 'both', ['siws', 'email']],
    ['allowedAuthMethods', '', 'both', []],
    ['test.poolEscrowEnabled', true, 'test', true],
    ['live.poolEscrowEnabled', 'false', 'live', false],
    [
      'allowedOrigins',
      'https://play.example,http://127.0.0.1:3000',
      'both',
      ['https://play.example', 'http://127.0.0.1:3000'],
    ],
    ['exportFloor', '{"SOL":"1000"}', 'both', { SOL: '1000' }],
    ['botToken', '12345', 'both', '12345'],
    ['test.botId', '7342037359', 'test', '7342037359'],
    ['withdrawStepUpSeconds', 'off', 'both', 'off'],
    ['withdrawStepUpSeconds', '900', 'both', 900],
    ['rentSponsorPerUserPerDay', '5', 'both', 5],
    ['live.rentSponsorPerAppPerDay', 0, 'live', 0],
    ['shareLinkTemplates', { x: 'https://x.example/{code}' }, 'both', { x: 'https://x.example/{code}' }],
    ...[
      'http://x.example/?text=from%20a%20friend&code={codeUrl}',
      'https://{code}.x.example/',
      'tg://resolve?domain=x&startapp={code}',
      'com.example.game+beta://join/{code}?again={codeUrl}',
    ].map((link): (typeof taken)[number] => ['shareLinkTemplates', { x: link }, 'both', { x: link }]),
    ['live.launchDataMaxAgeSeconds', '60', 'live', 60],
    ['launchDataMaxAgeSeconds', 86_400, 'both', 86_400],
    ['siwsStatement', null, 'both', undefined],
  ];
  for (const [name, value, place, json] of taken) {
    it(`takes ${name}=${JSON.stringify(value)}`, () => {
      expect(parseSettingChange(name, value)).to.deep.include({ place, json });
    });
  }

  const refused: readonly [name: string, value: unknown][] = [
    ['allowedAuthMethods', ['sms']],
    ['allowedOrigins', 'https://play.example/'],
    ['allowedOrigins', 'javascript:alert(1)'],
    ['poolEscrowEnabled', 'yes'],
    ['programAllowList', 'not-a-program'],
    ['exportFloor', '{"SOL":"01"}'],
    ['exportFloor', { SOL: 1000 }],
    ['botToken', 'two words'],
    ['botId', '7342037359:AA'],
    ['botId', '07'],
    ['botId', ''],
    ['botId', 7_342_037_359],
    ['custodyLockTimeoutSeconds', 0],
    ['launchDataMaxAgeSeconds', 59],
    ['launchDataMaxAgeSeconds', 86_401],
    ['siwsStatement', 'two\nlines'],
    ['shareLinkTemplates', { x: 'https://x.example/' }],
    ['shareLinkTemplates', { x: 'x.example/{code}' }],
    ['shareLinkTemplates', { x: '//x.example/{code}' }],
    ['shareLinkTemplates', { x: '{code}://x.example' }],
    ['shareLinkTemplates', { x: 'https://' }],
    ['shareLinkTemplates', { x: 'https://{code}:x' }],
    ['shareLinkTemplates', { x: 'https:x.example/{code}' }],
    ['shareLinkTemplates', { x: ' https://x.example/{code}' }],
    ['shareLinkTemplates', { x: 'https://x.example/{code}\n' }],
    ['shareLinkTemplates', { x: 'javascript:alert("{code}")' }],
    ['shareLinkTemplates', { x: 'javascript://x.example/%0Aalert("{code}")' }],
    ['shareLinkTemplates', { x: 'JavaScript://x.example/%0Aalert("{codeUrl}")' }],
    ['shareLinkTemplates', { x: 'java\tscript://x.example/{code}' }],
    ['shareLinkTemplates', { x: 'data://text/html,{code}' }],
    ['shareLinkTemplates', { x: 'file:///etc/{code}' }],
    ['shareLinkTemplates', { x: `https://x.example/{code}/${'a'.repeat(500)}` }],
    ['shareLinkTemplates', { 'X!': 'https://x.example/{code}' }],
  ];
  for (const [name, value] of refused) {
    it(`refuses ${name}=${JSON.stringify(value)} and says why`, () => {
      const { code, details } = refusal(name, value);
      expect(code).to.equal('portal/invalid_setting');
      expect(details).to.have.property('setting', name);
      expect(details.issues).not.to.deep.equal([]);
    });
  }

  for (const name of ['poolEscrow', 'prod.botToken', 'test.', '', 'constructor', '__proto__']) {
    it(`knows no setting "${name}", and lists those there are`, () => {
      expect(refusal(name, true)).to.deep.include({
        code: 'portal/unknown_setting',
        details: { setting: name, known: settingKeys },
      });
    });
  }
});

describe('the values that hold', () => {
  const stored: Readonly<Record<string, unknown>> = {
    'both/siwsStatement': 'Welcome',
    'test/siwsStatement': 'Welcome to the test',
    'both/exportFloor': { SOL: '1000' },
    'live/withdrawStepUpSeconds': 300,
  };
  const values = {
    test: valuesIn('test', (place, key) => stored[`${place}/${key}`]),
    live: valuesIn('live', (place, key) => stored[`${place}/${key}`]),
  };

  it("are the environment's own, else the ones for both, else the defaults", () => {
    expect(values.test.siwsStatement).to.equal('Welcome to the test');
    expect(values.live.siwsStatement).to.equal('Welcome');
    expect(values.test.withdrawStepUpSeconds).to.equal('off');
    expect(values.live.withdrawStepUpSeconds).to.equal(300);
    expect(values.live.custodyLockTimeoutSeconds).to.equal(900);
    expect(values.live.botToken).to.equal(undefined);
  });

  it('are read as they were stored, also where a rule for new ones has come since', () => {
    const links = { x: 'x.example/{code}' };
    const { shareLinkTemplates } = valuesIn('test', (_, key) =>
      key === 'shareLinkTemplates' ? links : undefined,
    );
    expect(shareLinkTemplates).to.deep.equal(links);
  });

  it('hold amounts as bigints', () => {
    expect(values.test.exportFloor).to.deep.equal({ SOL: 1000n });
  });
});
