/** The requests: to any operation, along links or at random, as documented or wrong in one of many ways. */
import type { Random } from '@coffer/testing';
import type { Asked } from './exchange.ts';
import type { Credential, Known, Lead } from './known.ts';
import type { Operation } from './operations.ts';
import type { Scene } from './scene.ts';
import {
  brokenValue,
  nastyText,
  oneOf,
  type Schema,
  type Schemas,
  type Values,
  validValue,
} from './values.ts';

/** Weights, in about a hundred. */
const WEIGHTS = {
  asDocumented: 62,
  brokenBody: 14,
  brokenJson: 4,
  wrongCredential: 5,
  wrongContentType: 3,
  oddPath: 4,
  oddQuery: 5,
  oddHeaders: 4,
  hugeBody: 1,
  wrongMethod: 2,
};
export type Kind = keyof typeof WEIGHTS;

/**
 * Less of what takes long or upsets everything than of other operations; more of what has idempotency keys.
 */
const SHARES = { rare: 0.1, keyed: 3 };

export interface Question extends Asked {
  readonly kind: Kind | 'sameAgain' | 'sameKeyOtherContent';
  readonly operation: Operation;
  /** Path and query. */
  readonly values: Values;
  readonly content: unknown;
  readonly credential: Credential | undefined;
  /** Whether a repeat must be answered with the same bytes. */
  readonly isKeyed: boolean;
}

const KEYS = new Set(['transactionUuid', 'ref', 'idempotencyKey', 'idemKey']);
const KEY_HEADER = 'Idempotency-Key';
/** These answer the current state of what the key names. */
const TELL_THE_PRESENT = new Set([
  'postTreasuryStatus',
  'postPortalAppAppIdEnvironmentUsersUserIdWalletsMigrate',
]);
const MIB = 1024 * 1024;

export function createQuestions({
  operations,
  known,
  scene,
  random,
}: {
  readonly operations: readonly Operation[];
  readonly known: Known;
  readonly scene: Scene;
  readonly random: Random;
}) {
  const weighted = operations.map((operation) => ({ operation, weight: weightOf(operation) }));
  const kinds = Object.entries(WEIGHTS).map(([kind, weight]) => ({ kind: kind as Kind, weight }));
  let keys = 0;
  let tried = 0;

  return { next, withOtherContent };

  function next(): Question {
    // Each of them once, to begin with.
    const untried = operations[tried];
    tried += 1;
    if (untried) return questionTo(untried, 'asDocumented');
    return questionTo(chosen(weighted).operation, chosen(kinds).kind);
  }

  function questionTo(operation: Operation, kind: Kind): Question {
    const lead = random() < 0.75 ? known.leadTo(operation.id, random) : undefined;
    const { body } = operation;
    let content = body && {
      ...Object(dressed(validValue(body, operation.schemas, random))),
      ...fieldsOf(operation, lead),
    };
    if (kind === 'brokenBody' && body) content = brokenValue(content, random);
    const values = valuesOf(operation, lead);
    const credential = credentialOf(operation, lead, kind);
    const headers: Record<string, string> = {
      ...(credential && { authorization: `Bearer ${credential.token}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headersOf(operation),
    };
    if (kind === 'wrongContentType') headers['content-type'] = oneOf(CONTENT_TYPES, random);
    if (kind === 'wrongCredential') Object.assign(headers, wrongAuthorization());
    if (kind === 'oddHeaders') Object.assign(headers, oddHeaders());
    const method =
      kind === 'wrongMethod' ? oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], random) : operation.method;
    const { origin, pathname } = new URL(operation.baseUrl);
    return {
      ...{ kind, operation, values, content, credential, method, origin, headers },
      target: `${pathname}${pathOf(operation, values, kind)}${queryOf(operation, values, kind)}`,
      body: bodyOf(operation, content, kind),
      isKeyed: kind === 'asDocumented' && !TELL_THE_PRESENT.has(operation.id) && hasKey(content, headers),
    };
  }

  /** The same key, now with other content. */
  function withOtherContent(question: Question): Question {
    const content = Object(question.content);
    const names = Object.keys(content).filter((name) => !KEYS.has(name));
    const fresh = Object(validValue(question.operation.body ?? {}, question.operation.schemas, random));
    const changed = {
      ...content,
      ...Object.fromEntries(names.filter(() => random() < 0.5).map((name) => [name, fresh[name]])),
    };
    return {
      ...question,
      kind: 'sameKeyOtherContent',
      content: changed,
      body: Buffer.from(JSON.stringify(changed)),
    };
  }

  function fieldsOf(operation: Operation, lead: Lead | undefined): Values {
    const inUrl = new Set(operation.parameters.map(({ name }) => name));
    return Object.fromEntries(Object.entries(lead?.values ?? {}).filter(([name]) => !inUrl.has(name)));
  }

  /** With values that the service knows, amounts that exist, and unused keys. */
  function dressed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(dressed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [name, dressedField(name, field)]),
    );
  }

  function dressedField(name: string, field: unknown): unknown {
    if (typeof field === 'object') return dressed(field);
    if (KEYS.has(name) && random() < 0.85) return newKey();
    if (/amount$/i.test(name) && typeof field === 'string' && random() < 0.7) {
      return String(Math.floor(random() ** 3 * 20_000));
    }
    if (name === 'currency' && random() < 0.8)
      return oneOf<unknown>(typeof field === 'number' ? [1, 2] : ['CHIP', 'SOL'], random);
    const found = random() < 0.85 ? known.knownValue(name, random) : undefined;
    return typeof found === typeof field ? found : field;
  }

  function valuesOf({ parameters, schemas }: Operation, lead: Lead | undefined): Record<string, string> {
    const values: Record<string, string> = {};
    for (const { name, in: place, required, schema } of parameters) {
      if (place === 'header') continue;
      const given = lead?.values[name];
      if (given === undefined && !required && random() < 0.6) continue;
      const usual =
        name === 'appId' ? scene.appId : name === 'environment' ? 'test' : known.knownValue(name, random);
      values[name] = String(
        given ?? (random() < 0.9 ? usual : undefined) ?? validValue(schema, schemas, random),
      );
    }
    return values;
  }

  function headersOf({ parameters, schemas }: Operation): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const { name, in: place, schema } of parameters) {
      if (place !== 'header' || random() < 0.6) continue;
      headers[name] =
        name === KEY_HEADER ? newKey() : headerText(String(validValue(schema, schemas, random)));
    }
    return headers;
  }

  function pathOf({ path }: Operation, values: Values, kind: Kind): string {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const odd = kind === 'oddPath' ? names[Math.floor(random() * names.length)] : undefined;
    const told = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      name === odd ? oddSegment() : encodeURIComponent(String(values[name]).toWellFormed()),
    );
    return kind === 'oddPath' && odd === undefined
      ? `${told}${oneOf(['/', '//', '%00', '/.', ';a=b', '%2f', '%'], random)}`
      : told;
  }

  function oddSegment(): string {
    const raw = [
      '%',
      '%ZZ',
      '%00',
      '%C3',
      '%ED%A0%80',
      '..',
      '%2e%2e',
      '',
      '\xff',
      '{a}',
      '"',
      'x'.repeat(6_000),
    ];
    return random() < 0.5
      ? oneOf(raw, random)
      : encodeURIComponent(nastyText(random).toWellFormed()).slice(0, 8_000);
  }

  function queryOf({ parameters }: Operation, values: Values, kind: Kind): string {
    const names = parameters
      .filter(({ in: place, name }) => place === 'query' && name in values)
      .map(({ name }) => name);
    const pieces = names.map((name) => `${name}=${encodeURIComponent(String(values[name]).toWellFormed())}`);
    if (kind === 'oddQuery') {
      const known = parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name);
      const name = oneOf([...known, 'limit', '__proto__', '%00', 'a[b]', '%C3', ''], random);
      const value = oneOf(
        ['', '%', '%00', '%ED%A0%80', '-1', '1e9', 'a&a', '[]', '\xff', 'x'.repeat(5_000), `1&${name}=2`],
        random,
      );
      pieces.push(
        `${name}=${random() < 0.6 ? value : encodeURIComponent(nastyText(random).toWellFormed()).slice(0, 5_000)}`,
      );
    }
    return pieces.length > 0 ? `?${pieces.join('&')}` : '';
  }

  function bodyOf(operation: Operation, content: unknown, kind: Kind): Buffer | undefined {
    if (!operation.body) return kind === 'brokenBody' ? Buffer.from('{"surplus":1}') : undefined;
    const text = JSON.stringify(content) ?? '';
    if (kind === 'hugeBody') {
      const bytes = oneOf([65_536, 65_537, MIB, 5 * MIB], random);
      return Buffer.from(random() < 0.5 ? `${text}${' '.repeat(bytes)}` : '['.repeat(bytes));
    }
    if (kind !== 'brokenJson') return Buffer.from(text);
    const whole = Buffer.from(text);
    return oneOf(
      [
        Buffer.alloc(0),
        whole.subarray(0, Math.floor(random() * whole.length)),
        Buffer.concat([whole, whole]),
        Buffer.concat([Buffer.from('\ufeff'), whole]),
        Buffer.concat([whole, Buffer.from([0])]),
        Buffer.from(text.replace('"', '"\ud800').replaceAll('\ufffd', '\xff'), 'latin1'),
        Buffer.from(text.replace(':', ':"\\ud800",')),
        Buffer.from(text.replace('{', '{"a":1,"a":2,')),
        Buffer.from(text.replace('{', '{"__proto__":{"a":1},')),
        Buffer.from(text, 'utf16le'),
        Buffer.from(`${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`),
        Buffer.from('NaN'),
        Buffer.from('null'),
        Buffer.from('1e999'),
      ],
      random,
    );
  }

  function credentialOf(
    { credential: scheme }: Operation,
    lead: Lead | undefined,
    kind: Kind,
  ): Credential | undefined {
    if (scheme === undefined || kind === 'wrongCredential') return undefined;
    if (lead?.credential?.scheme === scheme) return lead.credential;
    return { scheme, token: tokenOf(scheme) };
  }

  function tokenOf(scheme: string): string {
    const { secretKey, publishableKey } = random() < 0.93 ? scene.keys.test : scene.keys.live;
    const tokens: Readonly<Record<string, unknown>> = {
      secretKey,
      publishableKey,
      operatorToken: scene.operatorToken,
      accessToken: known.knownValue('accessToken', random),
    };
    return String(tokens[scheme] ?? 'none');
  }

  function wrongAuthorization(): Record<string, string> {
    const scheme = oneOf(['secretKey', 'publishableKey', 'accessToken', 'operatorToken'], random);
    const token = tokenOf(scheme);
    const texts = [
      `Bearer ${token}`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}x`,
      `Basic ${Buffer.from(`a:${token}`).toString('base64')}`,
      `bearer  ${token}`,
      'Bearer',
      'Bearer eyJhbGciOiJub25lIn0.e30.',
      `Bearer ${'x'.repeat(8_000)}`,
      token,
      '\xff\xfe',
      '',
    ];
    return random() < 0.2 ? {} : { authorization: oneOf(texts, random) };
  }

  function oddHeaders(): Record<string, string> {
    const texts = ['', ' ', '\xe9', 'x'.repeat(7_000), 'a,b', '"', ' '.repeat(7_000), '-1', 'é\xff', 'null'];
    const names = [
      ...[
        'X-Request-Id',
        'Origin',
        'Accept',
        'Accept-Encoding',
        'If-None-Match',
        'X-Forwarded-For',
        'Expect',
      ],
      ...[
        KEY_HEADER,
        'Content-Encoding',
        'Traceparent',
        'Cookie',
        'Range',
        'Host',
        'If-Match',
        'Content-Type',
      ],
    ];
    if (random() < 0.05) {
      return Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`X-Odd-${index}`, '1']));
    }
    if (random() < 0.05) return { 'X-Odd': 'x'.repeat(20_000) };
    return { [oneOf(names, random)]: oneOf(texts, random) };
  }

  function newKey(): string {
    keys += 1;
    // Now and then one that somebody has used before.
    return `key-${random() < 0.05 ? Math.ceil(random() * keys) : keys}`;
  }

  function chosen<Item extends { readonly weight: number }>(items: readonly Item[]): Item {
    const sum = items.reduce((total, { weight }) => total + weight, 0);
    let left = random() * sum;
    const item = items.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    return item ?? oneOf(items, random);
  }
}

const CONTENT_TYPES = [
  ...[
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
  ],
  ...[
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json;',
    'json',
    '\xff',
  ],
  ...['application/json; charset="utf-8"', 'APPLICATION/JSON', 'application/json, application/json'],
  `application/json;${' '.repeat(7_000)}`,
];

const hasKey = (content: unknown, headers: Readonly<Record<string, string>>): boolean =>
  KEY_HEADER in headers || Object.keys(Object(content)).some((name) => KEYS.has(name));

/** What a header may contain. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '?');

function weightOf({ id, answers, parameters, body, schemas }: Operation): number {
  const isStream = answers.get(200)?.bodies.has('application/x-ndjson') ?? false;
  if (isStream || /Rotate$|Reconcile$/.test(id)) return SHARES.rare;
  const names = [...parameters.map(({ name }) => name), ...fieldNames(body, schemas)];
  return names.some((name) => KEYS.has(name) || name === KEY_HEADER) ? SHARES.keyed : 1;
}

function fieldNames(schema: Schema | undefined, schemas: Schemas): readonly string[] {
  const { $ref, properties } = Object(schema);
  const named = typeof $ref === 'string' ? schemas[$ref.split('/').at(-1) ?? ''] : undefined;
  return Object.keys(Object(named?.properties ?? properties));
}
