/** How the brokers are reached, and what the topics are like. */
import { z } from 'zod';

export const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
type Mechanism = (typeof MECHANISMS)[number];

export interface KafkaSettings {
  /** `host:port`. */
  readonly brokers: readonly string[];
  readonly tls: { readonly authorities: string | undefined } | undefined;
  readonly sasl:
    | { readonly mechanism: Mechanism; readonly username: string; readonly password: string }
    | undefined;
  readonly topicPrefix: string;
  /** Undefined: they must exist. */
  readonly create: { readonly partitions: number; readonly replicas: number | undefined } | undefined;
}

/** What KAFKA_BROKERS says. */
export interface BrokersUrl {
  readonly brokers: readonly string[];
  readonly isTls: boolean;
  readonly mechanism: Mechanism | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const WRONG =
  'must be host:port, several separated by commas, or kafka(s)://user:password@host:port,host:port';
const HOST_AND_PORT = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):([1-9]\d{0,4})$/;
const URL_FORM = /^kafka(s?):\/\/(?:([^:@/?]*):([^@/?]*)@)?([^/?@]+)\/?(?:\?mechanism=([a-z0-9-]+))?$/;

/**
 * `host:port,host:port`, or `kafka(s)://user:password@host:port,host:port?mechanism=scram-sha-512`, whose user and
 * password are percent-encoded. No message quotes the text: it may contain a password.
 */
export const brokersUrl = z.string().transform((text, context): BrokersUrl => {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  const url = URL_FORM.exec(text);
  if (!url && /[@/]/.test(text)) return refuse(WRONG);
  const [, tls = '', user, password, list = text, mechanismText] = url ?? [];
  const brokers = list.split(',').map((broker) => broker.trim());
  if (!brokers.every((broker) => Number(HOST_AND_PORT.exec(broker)?.[1] ?? 65_536) <= 65_535))
    return refuse(WRONG);
  const mechanism = MECHANISMS.find((known) => known === mechanismText);
  if (mechanismText !== undefined && !mechanism)
    return refuse(`mechanism must be one of ${MECHANISMS.join(', ')}`);
  try {
    return {
      brokers,
      isTls: tls === 's',
      mechanism,
      username: user === undefined ? undefined : decodeURIComponent(user),
      password: password === undefined ? undefined : decodeURIComponent(password),
    };
  } catch {
    return refuse('user and password must be percent-encoded');
  }
});
