/**
 * Removes secrets from a line of JSON, wherever they are in it: fields, messages, stacks. Works on the finished line,
 * because a list of field paths would miss the next place where somebody logs one.
 */

const REDACTED = '[redacted]';

const SECRET_FIELD_NAMES = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'password',
  'secret',
  'clientSecret',
  'signingSecret',
  'token',
  'accessToken',
  'refreshToken',
  'operatorToken',
  'portalToken',
  'botToken',
  'apiKey',
  'secretKey',
  'privateKey',
  'masterKey',
  'initData',
  'otp',
].join('|');

/**
 * The line also holds text from strangers, so every pattern takes linear time: none begins with a repetition, and none
 * can match its own beginning within its repetition.
 */
export const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Fields of the line itself, then of JSON within a text of the line (with escaped quotes).
  [new RegExp(`("(?:${SECRET_FIELD_NAMES})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi'), `$1"${REDACTED}"`],
  [new RegExp(`(\\\\"(?:${SECRET_FIELD_NAMES})\\\\+"\\s*:\\s*\\\\+")[^"\\\\]*`, 'gi'), `$1${REDACTED}`],
  [/((?:sk|pk)_(?:test|live)_)[A-Za-z0-9_-]+/g, `$1${REDACTED}`],
  [/(rt_)[A-Za-z0-9_-]{32,}/g, `$1${REDACTED}`],
  // A session of the portal: two base64url parts.
  [/(pst_)[A-Za-z0-9._-]+/g, `$1${REDACTED}`],
  [/(whsec_)[A-Za-z0-9+/=_-]+/g, `$1${REDACTED}`],
  // No word boundary in front: there is none after a line break, which JSON writes as \n.
  [/(Bearer\s+)[A-Za-z0-9._~+/=-]+/gi, `$1${REDACTED}`],
  [/(Basic\s+)[A-Za-z0-9+/=]{16,}/gi, `$1${REDACTED}`],
  // A JSON web token: three base64url parts, the first beginning with the last {" found.
  [/eyJ(?:(?!eyJ)[A-Za-z0-9_-])+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, REDACTED],
  // The password in a connection string.
  [/(:\/\/[^\s:@/"\\]*:)[^\s@/"\\]+(?=@)/g, `$1${REDACTED}`],
];

/** `known`: exact secrets of this process, such as its operator token. */
export function createRedactor(known: readonly string[]): (line: string) => string {
  const texts = known.filter((text) => text !== '').map((text) => JSON.stringify(text).slice(1, -1));
  return (line) => {
    let clean = line;
    for (const text of texts) clean = clean.replaceAll(text, REDACTED);
    for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
    return clean;
  };
}
