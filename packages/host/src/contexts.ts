/** Assembles contexts: each is given what all those before it provide, and the compiler checks that this is enough. */
import type { Endpoint, OutgoingMessage } from '@coffer/http';
import type {
  ContextDefinition,
  ContextFacts,
  ContextParts,
  Foundations,
  Platform,
  Reactions,
  Whole,
  Worker,
} from './context.ts';
import { factsOf } from './facts.ts';

/** `Given`: what the installation provides in addition to the platform. */
export interface Contexts<Given, Provided extends object> {
  /** Does not compile if the context needs something that neither the installation nor an earlier context provides. */
  readonly with: <Provides extends object>(
    definition: ContextDefinition<Platform & Given & Provided, Provides>,
  ) => Contexts<Given, Provided & Provides>;
  readonly definitions: readonly ContextFacts[];
  readonly facts: Omit<Whole, 'reactionsOf'>;
  readonly create: (given: Omit<Platform, 'whole'> & Given) => Composition;
}

/** The contexts, created. */
export interface Composition extends Whole {
  readonly endpoints: readonly Endpoint[];
  readonly messages: readonly OutgoingMessage[];
  readonly foundations: Partial<Foundations>;
  readonly workers: readonly Worker[];
  readonly processes: Required<Reactions>;
}

interface Created<Provided> {
  readonly provided: Provided;
  readonly parts: readonly ContextParts<object>[];
}

export const contexts = <Given extends object>(): Contexts<Given, object> =>
  composed<Given, object>([], () => ({ provided: {}, parts: [] }));

function composed<Given, Provided extends object>(
  definitions: readonly ContextFacts[],
  createAll: (given: Platform & Given) => Created<Provided>,
): Contexts<Given, Provided> {
  const facts = factsOf(definitions);
  return {
    definitions,
    facts,
    with<Provides extends object>(definition: ContextDefinition<Platform & Given & Provided, Provides>) {
      return composed<Given, Provided & Provides>([...definitions, definition], (given) => {
        const before = createAll(given);
        const parts = definition.create?.({ ...given, ...before.provided }) ?? {};
        // What a context does not provide has no type that a later one could need.
        const provides = parts.provides ?? ({} as Provides);
        return { provided: { ...before.provided, ...provides }, parts: [...before.parts, parts] };
      });
    },
    create(given) {
      const whole: Whole = {
        ...facts,
        reactionsOf: (process) => created.parts.flatMap(({ reactions }) => reactions?.[process] ?? []),
      };
      const created = createAll({ ...given, whole });
      return {
        ...whole,
        endpoints: created.parts.flatMap(({ endpoints = [] }) => endpoints),
        messages: created.parts.flatMap(({ messages = [] }) => messages),
        workers: created.parts.flatMap(({ workers = [] }) => workers),
        processes: { holds: whole.reactionsOf('holds'), identities: whole.reactionsOf('identities') },
        foundations: Object.assign({}, ...created.parts.map(({ serves }) => serves)),
      };
    },
  };
}
