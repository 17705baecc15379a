import type { Reaction } from '@coffer/consumers';
import { endpoint } from '@coffer/http';
import { expect } from 'chai';
import { z } from 'zod';
import { type ContextParts, defineContext, type Platform, type Worker } from './context.ts';
import { contexts } from './contexts.ts';

interface Given {
  readonly greeting: string;
}

/** None of these contexts uses it. */
const PLATFORM = {} as Omit<Platform, 'whole'>;
const GIVEN = { ...PLATFORM, greeting: 'Hello' };

/** Whether the context can come next in the list. */
type Takes<
  List extends { readonly with: (definition: never) => unknown },
  Definition,
> = Definition extends Parameters<List['with']>[0] ? true : false;

const words = defineContext({
  name: 'words',
  errors: { 'words/none': { status: 404, message: 'There are no words.' } },
  unskippable: ['words'],
  create: ({ greeting }: Given) => ({ provides: { words: [greeting] } }),
});

const context = (name: string, parts: ContextParts<object>) => defineContext({ name, create: () => parts });
const endpointAt = (path: string) =>
  endpoint({
    method: 'GET',
    path,
    credential: 'operator',
    summary: 'Get it',
    success: { status: 200, schema: z.string() },
    errors: [],
    handle: () => ({ status: 200, body: '' }),
  });
const worker = (): Worker => ({ start: () => ({ stop: async () => undefined }) });
const reaction = (name: string): Reaction => ({
  name,
  causeOf: () => undefined,
  effectOf: () => undefined,
  act: async () => undefined,
});

describe('contexts', () => {
  it('are given the platform, what the installation gives, and what those before them provide', () => {
    const seen: unknown[] = [];
    const reader = defineContext({
      name: 'reader',
      create({ words: given, greeting, ownOrigin }: Platform & Given & { words: readonly string[] }) {
        seen.push(given, greeting, ownOrigin());
        return {};
      },
    });
    const ownOrigin = () => 'http://127.0.0.1:8080';
    contexts<Given>()
      .with(words)
      .with(reader)
      .create({ ...GIVEN, ownOrigin });
    expect(seen).to.deep.equal([['Hello'], 'Hello', 'http://127.0.0.1:8080']);
  });

  it('do not compile where nobody before them gives what they need', () => {
    const needsWords = defineContext({ name: 'reader', create: (_: { words: readonly string[] }) => ({}) });
    const needsText = defineContext({ name: 'reader', create: (_: { words: string }) => ({}) });
    const list = contexts<Given>();
    const after = list.with(words);
    const nothing = contexts<object>();
    // A value other than the one the type has would not compile.
    const afterWhatItNeeds: Takes<typeof after, typeof needsWords> = true;
    const beforeIt: Takes<typeof list, typeof needsWords> = false;
    const ofAnotherType: Takes<typeof after, typeof needsText> = false;
    const withoutInstallation: Takes<typeof nothing, typeof words> = false;
    expect([afterWhatItNeeds, beforeIt, ofAnotherType, withoutInstallation]).to.deep.equal([
      true,
      ...[false, false, false],
    ]);
  });

  it('are put together in the order of the list', () => {
    const [first, second] = [worker(), worker()];
    const composition = contexts<Given>()
      .with(words)
      .with(context('a', { endpoints: [endpointAt('/a')], workers: [first], reactions: { holds: [] } }))
      .with(context('b', { endpoints: [endpointAt('/b')], workers: [second] }))
      .create(GIVEN);
    expect(composition.endpoints.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
    expect(composition.workers).to.deep.equal([first, second]);
    expect(composition.catalog).to.include.keys('words/none', 'request/invalid');
    expect(composition.unskippable).to.deep.equal(['words']);
  });

  it('have their reactions by process, all of them once all contexts are created', () => {
    let ask: () => readonly Reaction[] = () => [];
    const asks = defineContext({
      name: 'asks',
      create({ whole }: Platform) {
        ask = () => whole.reactionsOf('holds');
        return {};
      },
    });
    const { processes } = contexts<Given>()
      .with(asks)
      .with(context('a', { reactions: { holds: [reaction('one')], identities: [reaction('two')] } }))
      .with(context('b', { reactions: { holds: [reaction('three')] } }))
      .create(GIVEN);
    const namesOf = (reactions: readonly Reaction[]) => reactions.map(({ name }) => name);
    expect(namesOf(processes.holds)).to.deep.equal(['one', 'three']);
    expect(namesOf(processes.identities)).to.deep.equal(['two']);
    expect(ask()).to.deep.equal(processes.holds);
  });

  it('rest on the one that serves a foundation', () => {
    const isSkipped = async () => false;
    const { foundations } = contexts<Given>()
      .with(context('a', { serves: { isSkipped } }))
      .with(context('b', { serves: { resolveKey: () => undefined } }))
      .create(GIVEN);
    expect(foundations).to.have.all.keys('isSkipped', 'resolveKey');
    expect(foundations.isSkipped).to.equal(isSkipped);
  });

  it('have their failures explained by the first that knows them, and by the store at last', () => {
    const knows = (name: string, message: string) =>
      defineContext({
        name,
        errorOf: (error) =>
          error instanceof Error && error.message === message ? { code: `${name}/${message}` } : undefined,
      });
    const { errorOf } = contexts<Given>().with(knows('a', 'one')).with(knows('b', 'two')).create(GIVEN);
    expect(errorOf(new Error('two'))).to.deep.equal({ code: 'b/two' });
    expect(errorOf(Object.assign(new Error(''), { code: 'ECONNREFUSED' }))?.code).to.equal(
      'service/unavailable',
    );
    expect(errorOf(new Error('three'))).to.equal(undefined);
  });
});
