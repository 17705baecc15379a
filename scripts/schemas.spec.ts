/** docs/schemas is what the code says, and a committed schema changes only as its readers can bear. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { eventFixtures, eventTypesByCategory } from './docs/contexts.ts';
import { brokenBy, committedFiles, filesInCode, pathOf, schemasInCode } from './schemas/files.ts';
import { incompatible } from './schemas/incompatible.ts';

type Schema = Readonly<Record<string, unknown>>;

const object = (properties: Schema, required: readonly string[] = [], more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  required,
  ...more,
});
const text = { type: 'string' };
const whole = { type: 'integer' };
const colour = (...values: readonly string[]) => ({ type: 'string', enum: values });
const either = (...schemas: readonly Schema[]) => ({ anyOf: schemas });
const list = (items: Schema) => ({ type: 'array', items });
const pair = (...prefixItems: readonly Schema[]) => ({ type: 'array', prefixItems });

const COMPATIBLE: readonly (readonly [what: string, before: Schema, after: Schema])[] = [
  ['nothing', object({ a: text }, ['a']), object({ a: text }, ['a'])],
  ['a new optional field', object({ a: text }, ['a']), object({ a: text, b: whole }, ['a'])],
  ['a new optional field of an inner object', object({ a: object({}) }), object({ a: object({ b: text }) })],
  ['a new optional field in a list', list(object({})), list(object({ b: text }))],
  ['a new optional field in a pair', pair(text, object({})), pair(text, object({ b: text }))],
  [
    'a new optional field of an object that may be null',
    either(object({}), { type: 'null' }),
    either(object({ b: text }), { type: 'null' }),
  ],
  ['a description', object({ a: text }), object({ a: { ...text, description: 'A.', examples: ['1'] } })],
  ['a title', object({}), object({}, [], { title: 'Thing' })],
  ['the order of fields', object({ a: text, b: text }, ['a', 'b']), object({ b: text, a: text }, ['b', 'a'])],
  ['the order of the values of an enum', colour('red', 'blue'), colour('blue', 'red')],
];

const INCOMPATIBLE: readonly (readonly [what: string, before: Schema, after: Schema, finding: string])[] = [
  ['a field that is gone', object({ a: text }, ['a']), object({}), 'data.a is gone'],
  ['an optional field that is gone', object({ a: text }), object({}), 'data.a is gone'],
  ['a new required field', object({}), object({ a: text }, ['a']), 'data.a is required now'],
  [
    'an optional field that is required',
    object({ a: text }),
    object({ a: text }, ['a']),
    'data.a is required now',
  ],
  [
    'a required field that is optional',
    object({ a: text }, ['a']),
    object({ a: text }),
    'data.a is no longer required',
  ],
  ['another type', object({ a: text }), object({ a: whole }), 'data.a: type was "string" and is "integer"'],
  [
    'a value of an enum that is gone',
    colour('red', 'blue'),
    colour('red'),
    'data: enum was ["blue","red"] and is ["red"]',
  ],
  [
    'a new value of an enum',
    colour('red'),
    colour('red', 'blue'),
    'data: enum was ["red"] and is ["blue","red"]',
  ],
  ['a new pattern', text, { ...text, pattern: '^a' }, 'data: pattern was absent and is "^a"'],
  ['a lost pattern', { ...text, pattern: '^a' }, text, 'data: pattern was "^a" and is absent'],
  ['a narrower bound', { ...whole, minimum: 0 }, { ...whole, minimum: 1 }, 'data: minimum was 0 and is 1'],
  ['a wider bound', { ...whole, minimum: 1 }, { ...whole, minimum: 0 }, 'data: minimum was 1 and is 0'],
  [
    'another format',
    { ...text, format: 'date' },
    { ...text, format: 'date-time' },
    'data: format was "date" and is "date-time"',
  ],
  ['another type in a list', list(text), list(whole), 'data items: type was "string" and is "integer"'],
  [
    'another type in a map',
    { type: 'object', additionalProperties: text },
    { type: 'object', additionalProperties: whole },
    'data additionalProperties: type was "string" and is "integer"',
  ],
  [
    'an object that is closed',
    object({}),
    object({}, [], { additionalProperties: false }),
    'data additionalProperties was undefined and is false',
  ],
  [
    'a new field in a closed object',
    object({}, [], { additionalProperties: false }),
    object({ a: text }, [], { additionalProperties: false }),
    'data.a is new, where nothing may be added',
  ],
  [
    'a longer pair',
    pair(text),
    pair(text, text),
    'data prefixItems was [{"type":"string"}] and is [{"type":"string"},{"type":"string"}]',
  ],
  [
    'what may be null now',
    either(text),
    either(text, { type: 'null' }),
    'data anyOf was [{"type":"string"}] and is [{"type":"string"},{"type":"null"}]',
  ],
  [
    'an inner object with a new required field',
    either(object({}), { type: 'null' }),
    either(object({ b: text }, ['b']), { type: 'null' }),
    'data anyOf[0].b is required now',
  ],
  ['another id', { $id: 'urn:a' }, { $id: 'urn:b' }, 'data: $id was "urn:a" and is "urn:b"'],
];

describe('a schema of a version', () => {
  for (const [what, before, after] of COMPATIBLE)
    it(`may change in ${what}`, () => expect([...incompatible(before, after)]).to.deep.equal([]));

  for (const [what, before, after, finding] of INCOMPATIBLE)
    it(`may not change in ${what}`, () => expect([...incompatible(before, after)]).to.deep.equal([finding]));

  it('may not be missing', () =>
    expect([...brokenBy(new Map(), new Map([['a/B.v1.json', '{}']]))]).to.deep.equal([
      'a/B.v1.json: the code no longer has this event or version',
    ]));
});

describe('docs/schemas', () => {
  const schemas = schemasInCode();

  it('changes only as readers can bear', () =>
    expect([...brokenBy(filesInCode(), committedFiles())], 'Raise the version of the event.').to.deep.equal(
      [],
    ));

  it('is what the code says', () => {
    const [code, committed] = [filesInCode(), committedFiles()];
    expect([...committed.keys()], 'Run: node scripts/writeSchemas.ts').to.have.members([...code.keys()]);
    for (const [path, content] of code)
      expect(committed.get(path), `${path}. Run: node scripts/writeSchemas.ts`).to.equal(content);
  });

  it('has every event type of every stream, from its first version to its last', async () => {
    const types = [...(await eventTypesByCategory())].flatMap(([category, names]) =>
      names.map((type) => `${category} ${type}`),
    );
    const versions = Map.groupBy(schemas, ({ category, type }) => `${category} ${type}`);
    expect([...versions.keys()]).to.have.members(types);
    for (const [type, all] of versions)
      expect(
        all.map(({ version }) => version),
        type,
      ).to.deep.equal(all.map((_, index) => index + 1));
  });

  it('describes what is on disk: each fixture fits the schema of its version', () => {
    const ajv = new Ajv2020({ allErrors: true });
    addFormats.default(ajv);
    const validators = new Map(
      schemas.map((one) => [
        `${one.type} ${one.version}`,
        { path: pathOf(one), validate: ajv.compile(one.schema) },
      ]),
    );
    const fixtures = eventFixtures();
    expect(fixtures).to.have.length.greaterThan(40);
    for (const { type, data, metadata } of fixtures) {
      const found = validators.get(`${type} ${metadata.v}`);
      expect(found?.validate(data), `${type} ${ajv.errorsText(found?.validate.errors)}`).to.equal(true);
    }
  });

  it('tells data that is not an event: an amount as a number, a field that is missing', () => {
    const bet = schemas.find(({ type }) => type === 'BetPlaced');
    const validate = new Ajv2020().compile(bet?.schema ?? {});
    const data = { transactionUuid: 'a', amount: '1', balance: '0' };
    expect(validate(data)).to.equal(true);
    expect(validate({ ...data, amount: 1 })).to.equal(false);
    expect(validate({ ...data, amount: '01' })).to.equal(false);
    expect(validate({ transactionUuid: 'a', amount: '1' })).to.equal(false);
  });
});
