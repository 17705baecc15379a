/**
 * What a context is: a value listing what it contributes (errors, streams, tables, rows), and a function from what it
 * needs to what it does (endpoints, reactions, background work). For how contexts are assembled, see `contexts.ts`.
 */
import type { Consumer, ConsumerOptions, Reaction, SkipLookup } from '@coffer/consumers';
import type { Migrations, Pool } from '@coffer/database';
import type { CommandHandler, KeptSnapshots, LogPlace, OurLog } from '@coffer/event-store';
import type {
  AllowedOrigins,
  Credentials,
  Endpoint,
  ErrorOf,
  Logger,
  OutgoingMessage,
  Registry,
} from '@coffer/http';
import type { Clock, ErrorCatalog, FailPoint, SecretBox, StreamType } from '@coffer/kernel';
import type { ReadModelProjections } from '@coffer/read-models';
import type { Role } from './roles.ts';

export interface ContextDefinition<Needs, Provides extends object> {
  readonly name: string;
  readonly errors?: ErrorCatalog;
  /** What failures of its clients mean to a caller; undefined for an unknown failure. */
  readonly errorOf?: ErrorOf;
  readonly streams?: readonly SomeStream[];
  readonly migrations?: readonly Migrations[];
  readonly projections?: ReadModelProjections;
  /** Its consumers that may not skip any event. */
  readonly unskippable?: readonly string[];
  /** Starts nothing: background work is among the parts. */
  readonly create?: (needs: Needs) => ContextParts<Provides>;
}

export interface ContextParts<Provides extends object> {
  /** What later contexts may need. */
  readonly provides?: Provides;
  /** What all requests and consumers depend on. */
  readonly serves?: Partial<Foundations>;
  readonly endpoints?: readonly Endpoint[];
  /** What it sends to others, documented with the endpoints. */
  readonly messages?: readonly OutgoingMessage[];
  /** By the process that runs them. */
  readonly reactions?: Reactions;
  readonly workers?: readonly Worker[];
}

/** `holds` acts on holds and pays what accounts are owed; `identities` completes sign-ins and erasures. */
type ProcessName = 'holds' | 'identities';
export type Reactions = Readonly<Partial<Record<ProcessName, readonly Reaction[]>>>;

/** What one context does for all of them. */
export interface Foundations extends Pick<Credentials, 'resolveKey' | 'resolveSession' | 'operatorAt'> {
  readonly allowedOrigins: AllowedOrigins;
  /** Whether an operator has told a consumer to skip an event. */
  readonly isSkipped: SkipLookup;
}

/** Work in the background, independent of requests. */
export interface Worker {
  /** Undefined: in every process. */
  readonly role?: Role;
  readonly start: (shared: SharedConsumerOptions) => RunningWorker | Promise<RunningWorker>;
}

interface RunningWorker {
  readonly consumers?: readonly Consumer[];
  /** Abandons what requests are waiting for, so that the servers can stop; called before they do. */
  readonly interrupt?: () => void;
  readonly stop: () => Promise<unknown> | undefined;
}

/** Shared by all consumers of a process. */
export type SharedConsumerOptions = Pick<
  ConsumerOptions,
  'pool' | 'store' | 'isSkipped' | 'onAlarm' | 'onTrouble'
>;

/** What every context may need. */
export interface Platform {
  /** For requests and consumers: its statements have a bound. */
  readonly pool: Pool;
  /** For work over whole tables, which takes as long as it takes. */
  readonly patientPool: Pool;
  readonly store: OurLog;
  readonly handler: CommandHandler;
  /** Undefined if none are kept. */
  readonly snapshots: KeptSnapshots | undefined;
  /** The end of the log when the process started. */
  readonly headAtStart: LogPlace | undefined;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly logger: Logger;
  readonly registry: Registry;
  /** 32 bytes, the same on every node. */
  readonly secretsKey: Uint8Array;
  readonly secretBox: SecretBox;
  /** Where others reach the service, as configured by the operator. */
  readonly publicOrigin: string | undefined;
  /** Where this process listens; undefined until it does, and if it does not. */
  readonly ownOrigin: () => string | undefined;
  readonly whole: Whole;
}

/** All contexts together, for code that examines all of them. */
export interface Whole {
  readonly catalog: ErrorCatalog;
  readonly errorOf: ErrorOf;
  readonly streams: readonly SomeStream[];
  readonly projections: ReadModelProjections;
  readonly unskippable: readonly string[];
  /** Complete once all contexts are created. */
  readonly reactionsOf: (process: ProcessName) => readonly Reaction[];
}

/** A stream type whose own types do not matter to its holder: `stream(use)` passes it to a generic function. */
export type SomeStream = <Result>(
  use: <Command, Event, State, Answer>(type: StreamType<Command, Event, State, Answer>) => Result,
) => Result;

export const someStream =
  <Command, Event, State, Answer>(type: StreamType<Command, Event, State, Answer>): SomeStream =>
  (use) =>
    use(type);

/** What is known about a context before it is created. */
export type ContextFacts = Omit<ContextDefinition<never, object>, 'create'>;

/** Infers what the context needs and provides. */
export const defineContext = <Needs, Provides extends object>(
  definition: ContextDefinition<Needs, Provides>,
): ContextDefinition<Needs, Provides> => definition;
