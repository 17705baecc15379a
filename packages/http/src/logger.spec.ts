import { expect } from 'chai';
import { analyse } from 'scslre';
import { createLogger } from './logger.ts';
import { SECRETS } from './redact.ts';

const SECRET = 'AbC123-secret_value';

function logged(
  write: (logger: ReturnType<typeof createLogger>) => void,
  secrets: readonly string[] = [],
): string {
  const lines: string[] = [];
  write(createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) }, secrets }));
  expect(lines).to.have.lengthOf(1);
  expect(() => JSON.parse(lines[0] ?? ''), lines[0]).to.not.throw();
  return lines[0] ?? '';
}

describe('the log', () => {
  it('is JSON lines with the time and the name of the level', () => {
    const line = JSON.parse(logged((logger) => logger.info({ requestId: 'r1' }, 'Started.')));
    expect(line).to.include({ level: 'info', requestId: 'r1', msg: 'Started.' });
    expect(line.time).to.match(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  const places: readonly (readonly [string, (logger: ReturnType<typeof createLogger>) => void])[] = [
    ['a key in the message', (logger) => logger.info(`Resolved sk_test_${SECRET} now.`)],
    ['a key after a line break', (logger) => logger.info(`Key:\nsk_test_${SECRET}`)],
    ['a credential after a line break', (logger) => logger.info(`Sent:\nBearer ${SECRET}`)],
    ['a publishable key in a field', (logger) => logger.info({ key: `pk_live_${SECRET}` }, 'x')],
    ['a key as the name of a field', (logger) => logger.info({ [`sk_live_${SECRET}`]: 1 }, 'x')],
    ['a key in an error', (logger) => logger.error({ err: new Error(`bad key sk_live_${SECRET}`) }, 'x')],
    [
      'a key in the cause of an error',
      (logger) => logger.error({ err: new Error('x', { cause: new Error(`sk_live_${SECRET}`) }) }, 'x'),
    ],
    ['an authorization header', (logger) => logger.info({ headers: { Authorization: `Bearer ${SECRET}` } })],
    ['raw headers', (logger) => logger.info({ raw: ['authorization', `Bearer ${SECRET}`] })],
    ['a token deep inside', (logger) => logger.info({ a: [{ b: { refreshToken: SECRET } }] })],
    ['a token with quotes in it', (logger) => logger.info({ token: `"${SECRET}"` })],
    ['a body that is logged as text', (logger) => logger.info(JSON.stringify({ a: 1, password: SECRET }))],
    ['a signing secret', (logger) => logger.info(`secret whsec_${SECRET}`)],
    [
      'a signing secret in a field',
      (logger) => logger.info({ url: `https://a.example/?s=whsec_${SECRET}` }, 'x'),
    ],
    ['a session of the portal', (logger) => logger.info(`Sent pst_eyJhcHBJZCI6.${SECRET} now.`)],
    ['a session of the portal in a field', (logger) => logger.info({ sent: `pst_${SECRET}.${SECRET}` }, 'x')],
    ['a JSON web token', (logger) => logger.info(`eyJhbGciOi.eyJzdWIi.${SECRET}`)],
    ['a JSON web token within another text', (logger) => logger.info(`eyJeyJhbGciOi.eyJzdWIi.${SECRET}`)],
    ['JSON in JSON', (logger) => logger.info({ sent: JSON.stringify(JSON.stringify({ password: SECRET })) })],
    ['a refresh token', (logger) => logger.info(`Sent rt_${SECRET}${SECRET}`)],
    ['a connection string', (logger) => logger.info(`postgres://coffer:${SECRET}@db/coffer`)],
  ];
  for (const [what, write] of places) {
    it(`does not hold ${what}`, () => {
      const line = logged(write);
      expect(line).to.not.include(SECRET);
      expect(line).to.include('[redacted]');
    });
  }

  it('does not hold a known secret, wherever it occurs', () => {
    expect(logged((logger) => logger.info({ a: [`x${SECRET}y`] }, SECRET), [SECRET, ''])).to.not.include(
      SECRET,
    );
  });

  it('leaves everything else as it is', () => {
    const fields = {
      tokens: 3,
      url: 'http://127.0.0.1:8080/v1',
      note: 'a sketch of the basic plan',
      code: 'a/b',
    };
    expect(JSON.parse(logged((logger) => logger.info(fields)))).to.include(fields);
  });

  it('is searched for secrets in linear time, whatever strangers put into it', () => {
    for (const [{ source, flags }] of SECRETS) {
      expect(analyse({ source, flags }).reports, source).to.deep.equal([]);
    }
  });

  it('is silent below its level', () => {
    const lines: string[] = [];
    createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) } }).info('x');
    expect(lines).to.deep.equal([]);
  });
});
