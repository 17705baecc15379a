/** The names of the topics. Readers rely on them, so they are for ever. */
import type { Environment } from '@coffer/kernel';

/** Legal in the name of a topic, and short enough for the longest of them. */
export const PREFIX = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,2}$/;

export interface TopicNames {
  /** Facts of the log, by the kind of stream. */
  readonly facts: (environment: Environment, category: string) => string;
  /** What webhooks tell, by app. */
  readonly events: (environment: Environment) => string;
  /** How far the relay is: its own. */
  readonly places: string;
}

/** No category of streams is called `events`: the name would be taken. */
export const topicNames = (prefix: string): TopicNames => ({
  facts: (environment, category) => `${prefix}.${environment}.${category}`,
  events: (environment) => `${prefix}.${environment}.events`,
  places: `${prefix}.relay-places`,
});
