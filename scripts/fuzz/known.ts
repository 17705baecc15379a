/** What the service has answered so far, and what its document says can be requested with it. */

import type { Random } from '@coffer/testing';
import { meantBy, type Told } from '../../services/coffer/src/testing/linkWalk.ts';
import type { Operation } from './operations.ts';
import { oneOf, type Values } from './values.ts';

/** Kept per name and per operation; the oldest is dropped. */
const KEPT = 60;

/** What one answer contributes to a request of another operation, and whose it is. */
export interface Lead {
  readonly values: Values;
  readonly credential: Credential | undefined;
}

export interface Credential {
  /** The name in the document. */
  readonly scheme: string;
  readonly token: string;
}

export type Known = ReturnType<typeof createKnown>;

/** @param kept Values that must not change: no request uses them. */
export function createKnown(operations: readonly Operation[], kept: ReadonlySet<string>) {
  const byName = new Map<string, unknown[]>();
  const leads = new Map<string, Lead[]>();
  const names = new Set(['accessToken', ...operations.flatMap(namesOf)]);

  return { learn, remember, addLead, knownValue, leadTo, learnFrom };

  function remember(name: string, value: unknown): void {
    if (!names.has(name) || (typeof value !== 'string' && typeof value !== 'number')) return;
    if (!kept.has(String(value))) addTo(byName, name, value);
  }

  /** All fields, however deep. */
  function learn(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, field] of Object.entries(value)) {
      remember(name, field);
      learn(field);
    }
  }

  function addLead(operationId: string, lead: Lead): void {
    if (!Object.values(lead.values).some((value) => kept.has(String(value)))) addTo(leads, operationId, lead);
  }

  /** Follows the answer's links. */
  function learnFrom(
    operation: Operation,
    status: number,
    told: Told,
    credential: Credential | undefined,
  ): void {
    // What clients may cache describes the API, not its contents.
    if (operation.answers.has(304)) return;
    learn(told.answer.json);
    // Answers that create a player contain the player's token, which the next operations use.
    const { accessToken } = Object(told.answer.json);
    const token = typeof accessToken === 'string' ? { scheme: 'accessToken', token: accessToken } : undefined;
    for (const { operationId, values } of operation.answers.get(status)?.links ?? []) {
      const meant = Object.entries(values).map(([name, text]) => [name, meantBy(told, text)] as const);
      if (meant.every(([, value]) => value !== undefined && value !== null)) {
        addLead(operationId, { values: Object.fromEntries(meant), credential: token ?? credential });
      }
    }
  }

  function knownValue(name: string, random: Random): unknown {
    const values = byName.get(name);
    return values && oneOf(values, random);
  }

  function leadTo(operationId: string, random: Random): Lead | undefined {
    const all = leads.get(operationId);
    return all && oneOf(all, random);
  }
}

function namesOf({ parameters, body, schemas }: Operation): readonly string[] {
  return [...parameters.map(({ name }) => name), ...fieldsOf(body, schemas, 0)];
}

function fieldsOf(schema: unknown, schemas: Readonly<Record<string, unknown>>, depth: number): string[] {
  if (depth > 8 || typeof schema !== 'object' || schema === null) return [];
  const { $ref, properties, items, oneOf: choices = [] } = Object(schema);
  if (typeof $ref === 'string') return fieldsOf(schemas[$ref.split('/').at(-1) ?? ''], schemas, depth + 1);
  const inner = [...Object.values(Object(properties)), items, ...choices];
  return [...Object.keys(Object(properties)), ...inner.flatMap((one) => fieldsOf(one, schemas, depth + 1))];
}

function addTo<Item>(map: Map<string, Item[]>, name: string, item: Item): void {
  const items = map.get(name) ?? [];
  items.push(item);
  if (items.length > KEPT) items.shift();
  map.set(name, items);
}
